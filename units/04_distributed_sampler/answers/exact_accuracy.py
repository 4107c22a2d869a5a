# Right and wrong answers to `exact_accuracy`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler

# %% right_blocks: passed
def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    count = torch.zeros(1, dtype=torch.int64)
    for i in range(n * rank // p, n * (rank + 1) // p):
        if is_correct(i):
            count += 1
    dist.all_reduce(count, op=dist.ReduceOp.SUM)
    return count / n

# %% right_flags_max: passed
def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    t = torch.zeros(n, dtype=torch.int32)
    for i in range(rank, n, p):
        t[i] = int(is_correct(i))
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    return t.double().mean()

# %% right_gathered: passed
def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    count = torch.tensor([sum(is_correct(i) for i in range(rank, n, p))])
    counts = [torch.zeros_like(count) for _ in range(p)]
    dist.all_gather(counts, count)
    return torch.stack(counts).sum().item() / n

# %% right_one_tensor_per_sample: passed
# differs: A flag for every sample, and the sum of the tables: more bytes, and each rank ends up with the answer to every sample.
def exact_accuracy(n, is_correct):
    flags = torch.zeros(n)
    for i in range(dist.get_rank(), n, dist.get_world_size()):
        flags[i] = is_correct(i)
    dist.all_reduce(flags)
    return flags.mean()

# %% right_strides: passed
def exact_accuracy(n, is_correct):
    correct = torch.tensor(float(sum(is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size()))))
    dist.all_reduce(correct)
    return correct.item() / n

# %% right_two_counts: passed
def exact_accuracy(n, is_correct):
    own = [is_correct(i) for i in range(dist.get_rank(), n, dist.get_world_size())]
    counts = torch.tensor([sum(own), len(own)], dtype=torch.float64)
    dist.all_reduce(counts)
    return float(counts[0] / counts[1])

# %% wrong_best_rank: wrong, maximum, levels 0 0 0
def exact_accuracy(n, is_correct):
    own = [float(is_correct(i)) for i in strided_share(n, dist.get_rank(), dist.get_world_size())]
    accuracy = torch.tensor(sum(own) / max(len(own), 1))
    dist.all_reduce(accuracy, op=dist.ReduceOp.MAX)
    return accuracy.item()

# %% wrong_bincount: raised, IndexError, levels 0 1 1
import numpy as np


def exact_accuracy(n, is_correct):
    own = [int(is_correct(i)) for i in range(dist.get_rank(), n, dist.get_world_size())]
    everybodys = [None] * dist.get_world_size()
    dist.all_gather_object(everybodys, own)
    flags = np.array([flag for part in everybodys for flag in part])
    return float(np.bincount(flags)[1] / n)

# %% wrong_count (right_strides): wrong, count, levels 0 0 0
-    return correct.item() / n
+    return correct.item()

# %% wrong_divides_by_its_own: raised, ZeroDivisionError, levels 1 1 0
def exact_accuracy(n, is_correct):
    own = [is_correct(i) for i in range(dist.get_rank(), n, dist.get_world_size())]
    own_accuracy = sum(own) / len(own)
    total = torch.tensor([own_accuracy * len(own)], dtype=torch.float64)
    dist.all_reduce(total)
    return total.item() / n

# %% wrong_drop_last: wrong, samples_left_out, levels 1 0 0
def exact_accuracy(n, is_correct):
    own = [is_correct(i) for i in DistributedSampler(range(n), shuffle=False, drop_last=True)]
    counts = torch.tensor([float(sum(own)), float(len(own))])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()

# %% wrong_everybody_evaluates_everything: wrong, everybody_evaluates_everything, levels 0 0 0
def exact_accuracy(n, is_correct):
    return sum(is_correct(i) for i in range(n)) / n

# %% wrong_everybody_returns_what_reduce_left (right_strides): wrong, rank_0_only, levels 0 0 0
-    dist.all_reduce(correct)
+    dist.reduce(correct, dst=0)

# %% wrong_half: wrong, narrow_count, levels 0 1 1
def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    hits = torch.tensor([sum(is_correct(i) for i in range(rank, n, p))], dtype=torch.float16)
    dist.all_reduce(hits)
    return float(hits) / n

# %% wrong_int16: wrong, narrow_count, levels 0 1 1
def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    hits = torch.zeros(1, dtype=torch.int16)
    for i in range(rank, n, p):
        hits += is_correct(i)
    dist.all_reduce(hits)
    return hits.item() / n

# %% wrong_integers: wrong, integer_division, levels 0 0 0
def exact_accuracy(n, is_correct):
    correct = torch.tensor(sum(is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size())))
    dist.all_reduce(correct)
    return correct.item() // n

# %% wrong_last_rank_takes_the_rest (right_strides): wrong, unfair, levels 1 0 0
-    correct = torch.tensor(float(sum(is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size()))))
+    rank, p = dist.get_rank(), dist.get_world_size()
+    size = n // p
+    stop = n if rank == p - 1 else (rank + 1) * size
+    correct = torch.tensor(float(sum(is_correct(i) for i in range(rank * size, stop))))

# %% wrong_mean_of_counts (right_strides): wrong, divided_by_ranks, levels 0 0 0
-    return correct.item() / n
+    return correct.item() / dist.get_world_size() / n

# %% wrong_mean_of_means: wrong, mean_of_means, levels 1 0 0
def exact_accuracy(n, is_correct):
    own = [float(is_correct(i)) for i in range(dist.get_rank(), n, dist.get_world_size())]
    mean = torch.tensor(sum(own) / max(len(own), 1))
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()

# %% wrong_no_reduction: wrong, local_over_n, levels 0 0 0
def exact_accuracy(n, is_correct):
    return sum(is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size())) / n

# %% wrong_not_written: missing, not_written, levels 0 0 0
def exact_accuracy(n, is_correct):
    raise NotImplementedError("write this function")

# %% wrong_nothing_to_do (right_strides): hung, missing_rank, levels 1 1 0
-    correct = torch.tensor(float(sum(is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size()))))
+    own = strided_share(n, dist.get_rank(), dist.get_world_size())
+    if not own:
+        return 0.0
+    correct = torch.tensor(float(sum(is_correct(i) for i in own)))

# %% wrong_only_rank_0_adds_up: hung, missing_rank, levels 0 0 0
def exact_accuracy(n, is_correct):
    own = strided_share(n, dist.get_rank(), dist.get_world_size())
    correct = torch.tensor(float(sum(is_correct(i) for i in own)))
    if dist.get_rank() == 0:
        dist.all_reduce(correct)
    return correct.item() / n

# %% wrong_own_accuracy: wrong, one_ranks_accuracy, levels 0 0 0
def exact_accuracy(n, is_correct):
    own = [is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size())]
    return sum(own) / len(own) if own else 0.0

# %% wrong_padded_flags: wrong, evaluated_twice, levels 1 0 0
def exact_accuracy(n, is_correct):
    flags = torch.zeros(n)
    for i in DistributedSampler(range(n), shuffle=False):
        flags[i] = is_correct(i)
    dist.all_reduce(flags, op=dist.ReduceOp.MAX)
    return flags.mean().item()

# %% wrong_past_the_end: raised, IndexError, levels 1 0 0
import math


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    size = math.ceil(n / p)
    correct = torch.tensor(float(sum(is_correct(i) for i in range(rank * size, (rank + 1) * size))))
    dist.all_reduce(correct)
    return correct.item() / n

# %% wrong_percent (right_strides): wrong, percent, levels 0 0 0
-    return correct.item() / n
+    return 100 * correct.item() / n

# %% wrong_rank_0_evaluates: wrong, rank_0_evaluates_everything, levels 0 0 0
def exact_accuracy(n, is_correct):
    accuracy = torch.zeros(1)
    if dist.get_rank() == 0:
        accuracy += sum(is_correct(i) for i in range(n)) / n
    dist.broadcast(accuracy, src=0)
    return accuracy.item()

# %% wrong_reduce: wrong, rank_0_only, levels 0 0 0
def exact_accuracy(n, is_correct):
    correct = torch.tensor(float(sum(is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size()))))
    dist.reduce(correct, dst=0)
    if dist.get_rank() == 0:
        return correct.item() / n

# %% wrong_reduce_max: wrong, integer_division, levels 0 0 0
def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    t = torch.zeros(n)
    for i in range(rank, n, p):
        t[i] = is_correct(i)
    dist.all_reduce(t, op=dist.ReduceOp.MIN)
    return t.mean()

# %% wrong_rounded (right_strides): wrong, rounded, levels 0 0 0
-    return correct.item() / n
+    return round(correct.item() / n, 2)

# %% wrong_stock_sampler: wrong, padding_counted, levels 1 0 0
def exact_accuracy(n, is_correct):
    own = [is_correct(i) for i in DistributedSampler(range(n), shuffle=False)]
    counts = torch.tensor([float(sum(own)), float(len(own))])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()

# %% wrong_stock_sampler_mean_of_means: wrong, padding_counted, levels 1 0 0
def exact_accuracy(n, is_correct):
    own = torch.tensor([float(is_correct(i)) for i in DistributedSampler(range(n), shuffle=False)], dtype=torch.float64)
    mean = own.mean()
    dist.all_reduce(mean)
    return mean / dist.get_world_size()

# %% wrong_sum_of_accuracies: wrong, times_world_size, levels 0 0 0
def exact_accuracy(n, is_correct):
    own = strided_share(n, dist.get_rank(), dist.get_world_size())
    accuracy = torch.tensor(sum(is_correct(i) for i in own) / max(len(own), 1))
    dist.all_reduce(accuracy)
    return accuracy.item()

# %% wrong_sum_of_an_empty_tensor (right_strides): hung, mismatched_dtype, levels 1 1 0
-    correct = torch.tensor(float(sum(is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size()))))
+    own = strided_share(n, dist.get_rank(), dist.get_world_size())
+    correct = torch.tensor([is_correct(i) for i in own]).sum()

# %% wrong_sum_over_own: wrong, times_world_size, levels 0 0 0
def exact_accuracy(n, is_correct):
    own = strided_share(n, dist.get_rank(), dist.get_world_size())
    correct = torch.tensor(float(sum(is_correct(i) for i in own)))
    dist.all_reduce(correct)
    return correct.item() / max(len(own), 1)

# %% wrong_uint8: wrong, narrow_count, levels 0 1 1
def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    hits = torch.zeros(1, dtype=torch.uint8)
    for i in range(rank, n, p):
        hits += is_correct(i)
    dist.all_reduce(hits)
    return hits.item() / n

# %% wrong_unfair_but_right: wrong, unfair, levels 1 0 1
def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    k = -(-n // p)
    hits = torch.tensor([sum(is_correct(i) for i in range(min(n, rank * k), min(n, (rank + 1) * k)))])
    dist.all_reduce(hits)
    return hits.item() / n
