# Right and wrong answers to `train_step`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
import torch.nn.functional as F

# %% right_async: passed
# differs: Loss, count and all gradients travel at the same time, and the division comes at the very end.
def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
    while works:
        works.pop().wait()
    with torch.no_grad():
        for p in model.parameters():
            p -= lr * p.grad / totals[1]
    return (totals[0] / totals[1]).item()

# %% right_autograd_grad: passed
def train_step(model, x, y, lr):
    parameters = list(model.parameters())
    loss = F.cross_entropy(model(x), y, reduction="sum")
    grads = torch.autograd.grad(loss, parameters)
    bucket = torch.cat([g.flatten() for g in grads] + [loss.detach().reshape(1), torch.tensor([float(len(y))]).double()])
    dist.all_reduce(bucket)
    bucket /= bucket[-1].clone()
    with torch.no_grad():
        for p, g in zip(parameters, bucket[:-2].split([p.numel() for p in parameters])):
            p.add_(g.view_as(p), alpha=-lr)
    return bucket[-2]

# %% right_empty_rank_with_zeros: passed
def train_step(model, x, y, lr):
    n, p = len(x), dist.get_world_size()
    model.zero_grad(set_to_none=False)
    loss = torch.tensor(0.0, dtype=next(model.parameters()).dtype)
    if n:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    total = torch.tensor(n)
    dist.all_reduce(total)
    for parameter in model.parameters():
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        parameter.grad *= n / total
        dist.all_reduce(parameter.grad)
        parameter.data -= lr * parameter.grad
    weighted = loss.detach() * n / total
    dist.all_reduce(weighted)
    return weighted.item()

# %% right_flat_with_counts: passed
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def train_step(model, x, y, lr):
    for p in model.parameters():
        p.grad = None
    loss = F.nll_loss(F.log_softmax(model(x), dim=1), y, reduction="sum")
    loss.backward()
    flat = torch.cat([*(p.grad.reshape(-1) for p in model.parameters()), loss.detach()[None], torch.tensor([float(len(y))])])
    dist.all_reduce(flat)
    *_, total, n = flat
    vector_to_parameters(parameters_to_vector(model.parameters()).detach() - lr * flat[:-2] / n, model.parameters())
    return total / n

# %% right_scaled_loss: passed
# differs: Each rank divides its sum by the global count before the backward pass, so the gradients only need to be added.
def train_step(model, x, y, lr):
    n = torch.tensor(len(x))
    dist.all_reduce(n)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") / n
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss)
    return loss

# %% right_sums: passed
from torch import nn


def train_step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float) -> float:
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr * p.grad / totals[1]
    return (totals[0] / totals[1]).item()

# %% right_uses_average_gradients: passed
def train_step(model, x, y, lr):
    count = torch.tensor([float(len(x))], dtype=torch.float64)
    dist.all_reduce(count)
    losses = F.cross_entropy(model(x), y, reduction="none")
    model.zero_grad()
    (losses.sum() * dist.get_world_size() / count.item()).backward()
    average_gradients(model)
    with torch.no_grad():
        for p in model.parameters():
            p.sub_(p.grad, alpha=lr)
    return global_metrics(losses.detach(), torch.zeros(len(x), dtype=torch.bool))[0]

# %% right_weight_in_float32: passed
def train_step(model, x, y, lr):
    n = torch.tensor(float(len(x)))
    dist.all_reduce(n)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") * (1 / n)
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    optimizer.step()
    total = loss.detach().float()
    dist.all_reduce(total)
    return total

# %% wrong_averages_models: wrong, mean_of_means, levels 1 0 0
def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    (loss / max(len(x), 1)).backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    with torch.no_grad():
        for p in model.parameters():
            p -= lr * p.grad
            dist.all_reduce(p)
            p /= dist.get_world_size()
    return (totals[0] / totals[1]).item()

# %% wrong_bucket_of_doubles: raised, RuntimeError, levels 1 1 0
def train_step(model, x, y, lr):
    """Gradients in one bucket of doubles."""
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    parameters = list(model.parameters())
    flat = torch.zeros(2 + sum(p.numel() for p in parameters), dtype=torch.float64)
    flat[0], flat[1] = loss.item(), len(x)
    torch.cat([p.grad.view(-1) for p in parameters], out=flat[2:])
    dist.all_reduce(flat)
    flat[2:] /= flat[1].clone()
    for p, piece in zip(parameters, flat[2:].split([p.numel() for p in parameters])):
        p.grad = piece.view_as(p)
    torch.optim.SGD(parameters, lr=lr).step()
    return (flat[0] / flat[1]).item()

# %% wrong_count_remembered: wrong, second_step, levels 0 0 0
seen = {}


def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    if "n" not in seen:
        n = torch.tensor(float(len(x)))
        dist.all_reduce(n)
        seen["n"] = n.item()
    total = loss.detach().clone()
    dist.all_reduce(total)
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr / seen["n"] * p.grad
    return total.item() / seen["n"]

# %% wrong_divided_by_ranks (right_async): wrong, divided_by_ranks, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
+            dist.all_reduce(p.grad)
+            p.grad /= dist.get_world_size()
+            p -= lr * p.grad

# %% wrong_divided_twice (right_async): wrong, divided_twice, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
+            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
+            p.grad /= totals[1]
+            p -= lr * p.grad

# %% wrong_divides_by_no_samples: wrong, empty_is_nan, levels 1 1 0
def train_step(model, x, y, lr):
    totals = torch.tensor([float(len(x)), 0.0], dtype=torch.float64)
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals[1] = loss.item()
    dist.all_reduce(totals)
    share = len(x) / totals[0].item()
    with torch.no_grad():
        for p in model.parameters():
            p.grad *= share / torch.tensor(len(x))  # the mean of my samples, weighted by my share
            dist.all_reduce(p.grad)
            p -= lr * p.grad
    return (totals[1] / totals[0]).item()

# %% wrong_double_on_the_empty_rank: raised, RuntimeError, levels 1 1 0
def train_step(model, x, y, lr):
    n = torch.tensor(len(x))
    dist.all_reduce(n)
    model.zero_grad()
    if len(x):
        loss = F.cross_entropy(model(x), y, reduction="sum") / n
        loss.backward()
        loss = loss.detach()
    else:
        loss = torch.zeros((), dtype=torch.float64)
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is None:
                p.grad = torch.zeros(p.shape, dtype=torch.float64)
            dist.all_reduce(p.grad)
            p -= lr * p.grad
    dist.all_reduce(loss)
    return loss.item()

# %% wrong_flattens (right_sums): raised, RuntimeError, levels 0 1 1
-from torch import nn
-
-
-def train_step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float) -> float:
+def train_step(model, x, y, lr):
@@
-    loss = F.cross_entropy(model(x), y, reduction="sum")
+    loss = F.cross_entropy(model(x.flatten(1)), y, reduction="sum")

# %% wrong_largest_share (right_async): wrong, largest_share, levels 1 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
+    largest = torch.tensor(len(x))
+    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
@@
-            p -= lr * p.grad / totals[1]
+            dist.all_reduce(p.grad)
+            p.grad /= largest * dist.get_world_size()
+            p -= lr * p.grad

# %% wrong_local_loss (right_async): wrong, local_loss, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
-    return (totals[0] / totals[1]).item()
+            dist.all_reduce(p.grad)
+            p.grad /= totals[1]
+            p -= lr * p.grad
+    return loss.item() / max(len(x), 1)

# %% wrong_loss_after_the_step: wrong, wrong_loss, levels 0 0 0
def train_step(model, x, y, lr):
    count = torch.tensor(float(len(x)), dtype=torch.float64)
    dist.all_reduce(count)
    model.zero_grad()
    F.cross_entropy(model(x), y, reduction="sum").backward()
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr / count.item() * p.grad
        loss = F.cross_entropy(model(x), y, reduction="sum")
    dist.all_reduce(loss)
    return (loss / count).item()

# %% wrong_loss_item_backward: wrong, no_step, levels 0 0 0
def train_step(model, x, y, lr):
    n = torch.tensor(float(len(x)), dtype=torch.float64)
    dist.all_reduce(n)
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    total = torch.tensor(loss.item(), dtype=torch.float64, requires_grad=True)
    total.backward()
    with torch.no_grad():
        for p in model.parameters():
            g = p.grad if p.grad is not None else torch.zeros_like(p)
            dist.all_reduce(g)
            p -= lr * g / n
    dist.all_reduce(total.data)
    return (total / n).item()

# %% wrong_loss_of_means (right_async): wrong, mean_of_losses, levels 1 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
-    return (totals[0] / totals[1]).item()
+            dist.all_reduce(p.grad)
+            p.grad /= totals[1]
+            p -= lr * p.grad
+    loss = loss.detach() / max(len(x), 1)
+    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
+    return loss.item()

# %% wrong_loss_sum (right_async): wrong, loss_not_divided, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
-    return (totals[0] / totals[1]).item()
+            dist.all_reduce(p.grad)
+            p.grad /= totals[1]
+            p -= lr * p.grad
+    return totals[0].item()

# %% wrong_lr_times_p (right_async): wrong, wrong_factor, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
+            dist.all_reduce(p.grad)
+            p.grad *= dist.get_world_size() / totals[1]
+            p -= lr * p.grad

# %% wrong_mean_is_nan: wrong, loss_is_nan, levels 1 1 0
def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    n = torch.tensor(float(len(x)))
    dist.all_reduce(n)
    loss = loss.detach() * len(x) / n
    with torch.no_grad():
        for p in model.parameters():
            p.grad *= len(x) / n
            dist.all_reduce(p.grad)
            p -= lr * p.grad
    dist.all_reduce(loss)
    return loss.item()

# %% wrong_mean_of_means: wrong, mean_of_means, levels 1 0 0
def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") / max(len(x), 1)
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            p -= lr * p.grad
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item()

# %% wrong_means_summed: wrong, sum_of_means, levels 0 0 0
def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") / max(len(x), 1)
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr * p.grad
    return (totals[0] / totals[1]).item()

# %% wrong_no_return (right_async): wrong, returns_nothing, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
-    return (totals[0] / totals[1]).item()
+            dist.all_reduce(p.grad)
+            p.grad /= totals[1]
+            p -= lr * p.grad
+    return

# %% wrong_not_divided (right_async): wrong, not_divided, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
+            dist.all_reduce(p.grad)
+            p -= lr * p.grad

# %% wrong_own_count (right_async): wrong, divided_by_own_count, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
+            dist.all_reduce(p.grad)
+            p.grad /= max(len(x), 1)
+            p -= lr * p.grad

# %% wrong_own_step (right_async): wrong, own_only, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
+            p.grad /= max(len(x), 1)
+            p -= lr * p.grad

# %% wrong_rank_0_steps (right_async): wrong, only_one_rank, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
+            dist.reduce(p.grad, dst=0)
+            p.grad /= totals[1]
+            p -= lr * p.grad

# %% wrong_returns_on_empty (right_sums): hung, missing_rank, levels 1 1 0
-from torch import nn
-
-
-def train_step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float) -> float:
+def train_step(model, x, y, lr):
+    if len(x) == 0:
+        return 0.0

# %% wrong_set (right_async): hung, mismatched_shape, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
+    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in set(model.parameters()))]]

# %% wrong_skips_last_parameter: wrong, some_parameters, levels 0 0 0
def train_step(model, x, y, lr):
    n = torch.tensor(float(len(x)))
    dist.all_reduce(n)
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") / n.item()
    loss.backward()
    with torch.no_grad():
        for p in list(model.parameters())[:-1]:
            dist.all_reduce(p.grad)
            p -= lr * p.grad
    total = loss.detach().clone()
    dist.all_reduce(total)
    return total.item()

# %% wrong_stale (right_sums): wrong, stale_gradients, levels 0 0 0
-from torch import nn
-
-
-def train_step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float) -> float:
-    model.zero_grad()
+def train_step(model, x, y, lr):
+    model.train()
@@
-            p -= lr * p.grad / totals[1]
+            p.grad /= totals[1]
+            p -= lr * p.grad

# %% wrong_steps_before_wait: wrong, used_before_wait, levels 0 0 0
def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    with torch.no_grad():
        works = []
        for p in model.parameters():
            works.append(dist.all_reduce(p.grad, async_op=True))
            p -= lr * p.grad / totals[1]
        for work in works:
            work.wait()
    return (totals[0] / totals[1]).item()

# %% wrong_tied_twice (right_async): wrong, tied_twice, levels 0 0 0
-        for p in model.parameters():
-            p -= lr * p.grad / totals[1]
+        for layer in model.modules():
+            for p in layer.parameters(recurse=False):
+                p -= lr * p.grad / totals[1]

# %% wrong_uphill (right_async): wrong, wrong_sign, levels 0 0 0
-    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
-    while works:
-        works.pop().wait()
+    dist.all_reduce(totals)
@@
-            p -= lr * p.grad / totals[1]
+            dist.all_reduce(p.grad)
+            p.grad /= totals[1]
+            p += lr * p.grad

# %% wrong_weight_decay: wrong, another_step, levels 0 0 0
def train_step(model, x, y, lr):
    n = torch.tensor(float(len(x)))
    dist.all_reduce(n)
    opt = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=1e-4)
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") / n.item()
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    opt.step()
    total = loss.detach().clone()
    dist.all_reduce(total)
    return total.item()

# %% wrong_zeroes_without_looking (right_sums): raised, AttributeError, levels 0 1 0
-from torch import nn
-
-
-def train_step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float) -> float:
-    model.zero_grad()
+def train_step(model, x, y, lr):
+    for p in model.parameters():
+        p.grad.zero_()
