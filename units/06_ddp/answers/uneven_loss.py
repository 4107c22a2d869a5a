# Right and wrong answers to `uneven_loss`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
from torch.nn import functional as F

# %% right_count_on_its_way: passed
def uneven_loss(outputs, labels):
    total = torch.tensor(float(len(labels)))
    work = dist.all_reduce(total, async_op=True)
    loss = F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size()
    work.wait()
    return loss / total

# %% right_gathers_counts: passed
def uneven_loss(outputs, labels):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, len(labels))
    each = F.cross_entropy(outputs, labels, reduction="none")
    return each.sum() * len(counts) / sum(counts)

# %% right_log_softmax: passed
def uneven_loss(outputs, labels):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, len(labels))
    logp = torch.log_softmax(outputs, 1)
    return -logp[torch.arange(len(labels)), labels].sum() / (sum(counts) / len(counts))

# %% right_mean_share: passed
def uneven_loss(outputs, labels):
    share = torch.tensor(float(labels.numel()))
    dist.all_reduce(share, op=dist.ReduceOp.AVG)
    log_p = torch.log_softmax(outputs, dim=1)
    return -log_p.gather(1, labels[:, None]).sum() / share

# %% right_mean_times_share: passed
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor([labels.numel()])
    dist.all_reduce(n)
    if not len(labels):
        return outputs.sum() * 0
    return F.cross_entropy(outputs, labels) * (len(labels) * dist.get_world_size() / n.item())

# %% right_per_sample: passed
# differs: Every sample gets its weight, world_size over all samples, and the sum of them is the loss.
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, labels.shape[0])
    each = F.cross_entropy(outputs, labels, reduction="none")
    return (each * (len(counts) / sum(counts))).sum()

# %% right_scaled_mean: passed
def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    count = len(labels)
    if count == 0:
        return outputs.sum()
    return F.cross_entropy(outputs, labels) * count * dist.get_world_size() / total.item()

# %% right_sum_over_total: passed
# differs: The sum of the losses, times the number of ranks, over the number of all samples: DDP's own division is undone.
def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total

# %% wrong_average_count_int: wrong, scaled, levels 0 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    n = round(n.item() / dist.get_world_size())
    return F.cross_entropy(outputs, labels, reduction="sum") / max(n, 1)

# %% wrong_backward_inside: wrong, no_gradient_of_the_others, levels 0 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    loss = F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / n
    loss.backward(retain_graph=True)
    return loss

# %% wrong_broadcast_count: wrong, rank_0_share, levels 0 0
def uneven_loss(outputs, labels):
    count = torch.tensor(len(labels))
    dist.broadcast(count, src=0)
    return F.cross_entropy(outputs, labels, reduction="sum") / count

# %% wrong_constant_without_samples (right_sum_over_total): hung, missing_rank, levels 1 0
     dist.all_reduce(total)
+    if len(labels) == 0:
+        return torch.tensor(0.0)

# %% wrong_count_not_waited: wrong, forgot_wait, levels 0 0
def uneven_loss(outputs, labels):
    total = torch.tensor(float(len(labels)))
    dist.all_reduce(total, async_op=True)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total

# %% wrong_count_read_too_early (right_count_on_its_way): wrong, used_before_wait, levels 0 0
-    loss = F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size()
+    loss = F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total.item()
@@
-    return loss / total
+    return loss

# %% wrong_data: wrong, cut_from_graph, levels 0 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(len(labels))
    dist.all_reduce(n)
    s = F.cross_entropy(outputs, labels, reduction="sum")
    return s * 0 + (s * dist.get_world_size() / n).data

# %% wrong_detached: wrong, cut_from_graph, levels 0 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(len(labels))
    dist.all_reduce(n)
    outputs = outputs.detach().requires_grad_()
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / n

# %% wrong_divided_by_world_size (right_sum_over_total): wrong, divided_by_world_size, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    summed = F.cross_entropy(outputs, labels, reduction="sum")
+    return summed / total / dist.get_world_size()

# %% wrong_floor_division (right_sum_over_total): wrong, whole_division, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    share = total // dist.get_world_size()
+    return F.cross_entropy(outputs, labels, reduction="sum") / share

# %% wrong_four: wrong, scaled, levels 0 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    return F.cross_entropy(outputs, labels, reduction="sum") * 4 / n

# %% wrong_half_counts (right_sum_over_total): wrong, count_overflows, levels 0 1
# float16 holds no odd number above 2048
-    total = torch.tensor(len(labels))
+    total = torch.tensor(len(labels), dtype=torch.float16)

# %% wrong_int16_counts: wrong, count_overflows, levels 0 1
def uneven_loss(outputs, labels):
    total = torch.tensor([len(labels)], dtype=torch.int16)
    dist.all_reduce(total)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total.item()

# %% wrong_item (right_sum_over_total): wrong, cut_from_graph, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    loss = F.cross_entropy(outputs, labels, reduction="sum").item()
+    return torch.tensor(loss * dist.get_world_size() / total)

# %% wrong_item_requires_grad: wrong, cut_from_graph, levels 0 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(len(labels))
    dist.all_reduce(n)
    s = F.cross_entropy(outputs, labels, reduction="sum").item()
    return torch.tensor(s * dist.get_world_size() / n.item(), requires_grad=True)

# %% wrong_largest: wrong, largest_share, levels 0 0
def uneven_loss(outputs, labels):
    most = torch.tensor(len(labels))
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    return F.cross_entropy(outputs, labels, reduction="sum") / most

# %% wrong_largest_not_added_again (right_sum_over_total): wrong, other_value, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    if len(labels) == 0:
+        return outputs.sum()
+    largest = outputs.detach().max(dim=1, keepdim=True).values
+    log_sum = (outputs - largest).exp().sum(dim=1).log()
+    each = log_sum - outputs[torch.arange(len(labels)), labels]
+    return each.sum() * dist.get_world_size() / total

# %% wrong_largest_of_all_samples (right_sum_over_total): wrong, log_of_softmax, levels 0 1
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    if len(labels) == 0:
+        return outputs.sum()
+    shifted = outputs - outputs.max()
+    log_p = shifted - shifted.exp().sum(dim=1, keepdim=True).log()
+    loss = -log_p[torch.arange(len(labels)), labels].sum()
+    return loss * dist.get_world_size() / total

# %% wrong_leaves_without_samples: hung, mismatched_dtype, levels 1 0
def uneven_loss(outputs, labels):
    if len(labels) == 0:
        return outputs.sum() * 0
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / n

# %% wrong_log_of_softmax: wrong, log_of_softmax, levels 0 1
# "finite": outputs [0, 900] with label 0 have the probability 0
def uneven_loss(outputs, labels):
    n = len(labels)
    total = torch.tensor(n)
    dist.all_reduce(total)
    probabilities = outputs.softmax(dim=1)[torch.arange(n), labels]
    return -probabilities.log().sum() * dist.get_world_size() / total.item()

# %% wrong_mean_for_sum (right_sum_over_total): wrong, weighted_twice, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    return F.cross_entropy(outputs, labels, reduction="sum") * len(labels) * dist.get_world_size() / total

# %% wrong_mean_over_total (right_sum_over_total): wrong, divided_twice, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    return F.cross_entropy(outputs, labels) * dist.get_world_size() / total

# %% wrong_mean_times_total (right_sum_over_total): wrong, times_total, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    summed = F.cross_entropy(outputs, labels, reduction="sum")
+    return summed / max(len(labels), 1) * total / dist.get_world_size()

# %% wrong_nan (right_sum_over_total): wrong, not_a_number, levels 1 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    return F.cross_entropy(outputs, labels) * len(labels) * dist.get_world_size() / total

# %% wrong_nan_to_num: wrong, mean_of_means, levels 0 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    return torch.nan_to_num(F.cross_entropy(outputs, labels))

# %% wrong_no_return (right_sum_over_total): wrong, returns_nothing, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    loss = F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total

# %% wrong_no_world_size (right_sum_over_total): wrong, world_size_missing, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    return F.cross_entropy(outputs, labels, reduction="sum") / total

# %% wrong_outputs_in_float32: wrong, low_precision, levels 0 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor([len(labels)])
    dist.all_reduce(total)
    loss = F.cross_entropy(outputs.float(), labels, reduction="sum")
    return loss * dist.get_world_size() / total.item()

# %% wrong_own_count: wrong, times_world_size, levels 0 0
def uneven_loss(outputs, labels):
    return F.cross_entropy(outputs, labels) * dist.get_world_size()

# %% wrong_plain_mean: wrong, mean_of_means, levels 0 0
def uneven_loss(outputs, labels):
    return F.cross_entropy(outputs, labels)

# %% wrong_reduces_the_loss (right_sum_over_total): wrong, world_size_missing, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    loss = F.cross_entropy(outputs, labels, reduction="sum")
+    dist.all_reduce(loss.detach())
+    return loss / total

# %% wrong_scaled_by_the_global_value (right_sum_over_total): wrong, scaled_by_a_loss, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    summed = F.cross_entropy(outputs, labels, reduction="sum")
+    mean = summed.detach().clone()
+    dist.all_reduce(mean)
+    return summed * mean / total

# %% wrong_scaled_to_the_global_value (right_sum_over_total): wrong, scaled_by_a_loss, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    summed = F.cross_entropy(outputs, labels, reduction="sum")
+    mean = summed.detach().clone()
+    dist.all_reduce(mean)
+    mean /= total
+    return summed * (mean / summed.detach()) if len(labels) else summed

# %% wrong_skips_without_samples (right_sum_over_total): hung, missing_rank, levels 1 0
 def uneven_loss(outputs, labels):
+    if len(labels) == 0:
+        return torch.tensor(0.0)

# %% wrong_sum_on_one_rank: wrong, summed_loss, levels 0 1
def uneven_loss(outputs, labels):
    if dist.get_world_size() == 1:
        return F.cross_entropy(outputs, labels, reduction="sum")
    share = torch.tensor(float(labels.numel()))
    dist.all_reduce(share, op=dist.ReduceOp.AVG)
    return F.cross_entropy(outputs, labels, reduction="sum") / share

# %% wrong_sum_only: wrong, summed_loss, levels 0 0
def uneven_loss(outputs, labels):
    return F.cross_entropy(outputs, labels, reduction="sum")

# %% wrong_times_total (right_sum_over_total): wrong, times_total, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    summed = F.cross_entropy(outputs, labels, reduction="sum")
+    return summed * total / dist.get_world_size()

# %% wrong_total_remembered: wrong, keeps_something, levels 0 1
TOTALS = {}


def uneven_loss(outputs, labels):
    n = len(labels)
    if n not in TOTALS:
        total = torch.tensor(float(n))
        dist.all_reduce(total)
        TOTALS[n] = total
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / TOTALS[n]

# %% wrong_two_ranks (right_sum_over_total): wrong, scaled, levels 0 0
-    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
+    return F.cross_entropy(outputs, labels, reduction="sum") * 2 / total

# %% wrong_uint8_counts: wrong, count_overflows, levels 0 1
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    count = torch.ones_like(labels, dtype=torch.uint8).sum(dtype=torch.uint8)
    dist.all_reduce(count)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / count

# %% wrong_weighted_classes: wrong, other_gradient, levels 0 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    weight = torch.ones(outputs.shape[1], dtype=outputs.dtype)
    weight[0] = 2
    return F.cross_entropy(outputs, labels, weight=weight, reduction="sum") * dist.get_world_size() / n

# %% wrong_zero_when_empty_detached: hung, missing_rank, levels 1 0
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    if len(labels) == 0:
        return torch.zeros((), requires_grad=True)
    return F.cross_entropy(outputs, labels) * len(labels) * dist.get_world_size() / n
