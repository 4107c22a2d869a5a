# Right and wrong answers to `accumulate`. In files of their own: autograder bank --write DIR
import contextlib
import torch
import torch.distributed as dist
from torch.nn import functional as F

# %% right_by_hand_at_the_end: passed
def accumulate(ddp, micro_batches):
    with ddp.no_sync():
        for x, y in micro_batches:
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
    for p in ddp.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()

# %% right_flag: passed
# differs: It switches DDP's own flag in place of the context manager, and divides the finished gradient once.
def accumulate(ddp, micro_batches):
    *head, (x, y) = micro_batches
    ddp.require_backward_grad_sync = False
    for a, b in head:
        F.cross_entropy(ddp(a), b).backward()
    ddp.require_backward_grad_sync = True
    F.cross_entropy(ddp(x), y).backward()
    for p in ddp.parameters():
        p.grad /= len(micro_batches)

# %% right_flat_at_the_end: passed
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    with ddp.no_sync():
        for x, y in micro_batches:
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
    ps = list(ddp.parameters())
    flat = torch.cat([p.grad.reshape(-1) for p in ps])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    for p, piece in zip(ps, flat.split([p.numel() for p in ps])):
        p.grad.copy_(piece.view_as(p))

# %% right_iterator: passed
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    *front, last = micro_batches
    scale = torch.tensor(1 / len(micro_batches), dtype=torch.float64)
    with ddp.no_sync():
        for x, y in front:
            F.cross_entropy(ddp(x), y).mul(scale).backward()
    F.cross_entropy(ddp(last[0]), last[1]).mul(scale).backward()

# %% right_last_apart: passed
def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            (F.cross_entropy(ddp(x), y) / k).backward()
    x, y = micro_batches[-1]
    (F.cross_entropy(ddp(x), y) / k).backward()

# %% right_nullcontext: passed
from contextlib import nullcontext


def accumulate(ddp, micro_batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with nullcontext() if last else ddp.no_sync():
            loss = F.cross_entropy(ddp(x), y) / len(micro_batches)
            loss.backward()
    return ddp

# %% right_switch: passed
def accumulate(ddp, micro_batches):
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
    ddp.require_backward_grad_sync = True
    x, y = micro_batches[-1]
    (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()

# %% wrong_all_but_the_last_forward_first (right_last_apart): wrong, graphs_kept, levels 1 0
+import torch.nn.functional as F
+
+
 def accumulate(ddp, micro_batches):
@@
-        for x, y in micro_batches[:-1]:
-            (F.cross_entropy(ddp(x), y) / k).backward()
+        losses = [F.cross_entropy(ddp(x), y) / k for x, y in micro_batches[:-1]]
+        for loss in losses:
+            loss.backward()

# %% wrong_all_in_no_sync (right_by_hand_at_the_end): wrong, own_gradient, levels 0 0
-    for p in ddp.parameters():
-        dist.all_reduce(p.grad)
-        p.grad /= dist.get_world_size()

# %% wrong_broadcasts_the_gradient_too (right_last_apart): wrong, synchronises_every_time, levels 1 0
     (F.cross_entropy(ddp(x), y) / k).backward()
+    for parameter in ddp.parameters():  # so that all ranks hold the same to the last bit
+        dist.broadcast(parameter.grad, src=0)

# %% wrong_concatenates_pairs: wrong, one_big_batch, levels 1 0
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    pairs = [micro_batches[k : k + 2] for k in range(0, len(micro_batches), 2)]
    for k, pair in enumerate(pairs):
        x, y = torch.cat([b[0] for b in pair]), torch.cat([b[1] for b in pair])
        with ddp.no_sync() if k < len(pairs) - 1 else contextlib.nullcontext():
            (F.cross_entropy(ddp(x), y) * len(pair) / len(micro_batches)).backward()

# %% wrong_divided_again (right_last_apart): wrong, divided_again, levels 0 0
     (F.cross_entropy(ddp(x), y) / k).backward()
+    for p in ddp.parameters():
+        p.grad /= dist.get_world_size()

# %% wrong_divided_twice (right_last_apart): wrong, scaled, levels 0 0
     (F.cross_entropy(ddp(x), y) / k).backward()
+    for p in ddp.parameters():
+        p.grad /= k

# %% wrong_first_synchronised: wrong, first_synchronised, levels 0 0
def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    x, y = micro_batches[0]
    (F.cross_entropy(ddp(x), y) / k).backward()
    with ddp.no_sync():
        for x, y in micro_batches[1:]:
            (F.cross_entropy(ddp(x), y) / k).backward()

# %% wrong_forward_outside: wrong, synchronises_every_time, levels 1 0
def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        loss = F.cross_entropy(ddp(x), y) / k
        if i < k - 1:
            with ddp.no_sync():
                loss.backward()
        else:
            loss.backward()

# %% wrong_gathers_every_time: wrong, synchronises_every_time, levels 1 0
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    p_ = dist.get_world_size()
    with ddp.no_sync():
        for x, y in micro_batches:
            before = [None if p.grad is None else p.grad.clone() for p in ddp.parameters()]
            ddp.zero_grad()
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
            for b, p in zip(before, ddp.parameters()):
                box = [torch.empty_like(p.grad) for _ in range(p_)]
                dist.all_gather(box, p.grad)
                p.grad = sum(box) / p_ + (0 if b is None else b)

# %% wrong_hooks_divide: wrong, hooks_left, levels 0 0
def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    for parameter in ddp.parameters():
        parameter.register_hook(lambda gradient: gradient / k)
    for i, (x, y) in enumerate(micro_batches):
        with ddp.no_sync() if i < k - 1 else contextlib.nullcontext():
            F.cross_entropy(ddp(x), y).backward()

# %% wrong_last_by_identity: wrong, synchronises_every_time, levels 1 0
# "The gradient goes round only once, with the last of them or after it": the last is recognised by `is`; a list
# that holds the same pair several times is averaged every time (the values are right)
def accumulate(ddp, micro_batches):
    last = micro_batches[-1]
    for pair in micro_batches:
        x, y = pair
        with contextlib.nullcontext() if pair is last else ddp.no_sync():
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()

# %% wrong_last_forward_in_no_sync: wrong, own_gradient, levels 0 0
def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        with ddp.no_sync():
            loss = F.cross_entropy(ddp(x), y) / k
            if i < k - 1:
                loss.backward()
    loss.backward()

# %% wrong_last_not_divided (right_switch): wrong, last_not_divided, levels 0 0
-    ddp.require_backward_grad_sync = True
@@
-    (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
+    F.cross_entropy(ddp(x), y).backward()

# %% wrong_left_in_evaluation (right_last_apart): wrong, left_in_eval_mode, levels 0 0
     k = len(micro_batches)
+    ddp.eval()

# %% wrong_left_off: wrong, left_switched_off, levels 1 0
def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    ddp.require_backward_grad_sync = False
    for x, y in micro_batches[:-1]:
        (F.cross_entropy(ddp(x), y) / k).backward()
    ddp.require_backward_grad_sync = True
    x, y = micro_batches[-1]
    (F.cross_entropy(ddp(x), y) / k).backward()
    ddp.require_backward_grad_sync = False

# %% wrong_module: wrong, own_gradient, levels 0 0
def accumulate(ddp, micro_batches):
    for x, y in micro_batches:
        (F.cross_entropy(ddp.module(x), y) / len(micro_batches)).backward()

# %% wrong_neither: wrong, own_not_divided, levels 0 0
def accumulate(ddp, micro_batches):
    with ddp.no_sync():
        for x, y in micro_batches:
            F.cross_entropy(ddp(x), y).backward()

# %% wrong_no_no_sync: wrong, synchronises_every_time, levels 1 0
def accumulate(ddp, micro_batches):
    for x, y in micro_batches:
        (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()

# %% wrong_not_divided: wrong, not_divided, levels 0 0
def accumulate(ddp, micro_batches):
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            F.cross_entropy(ddp(x), y).backward()
    x, y = micro_batches[-1]
    F.cross_entropy(ddp(x), y).backward()

# %% wrong_one_big_batch: wrong, one_big_batch, levels 1 0
def accumulate(ddp, micro_batches):
    x = torch.cat([x for x, _ in micro_batches])
    y = torch.cat([y for _, y in micro_batches])
    F.cross_entropy(ddp(x), y).backward()

# %% wrong_one_too_few: wrong, one_too_few, levels 0 0
def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    for i, (x, y) in enumerate(micro_batches[:-1]):
        (F.cross_entropy(ddp(x), y) / k).backward()
    if k == 1:
        x, y = micro_batches[0]
        F.cross_entropy(ddp(x), y).backward()

# %% wrong_only_last_divided (right_switch): wrong, only_last_divided, levels 0 0
-            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
-    ddp.require_backward_grad_sync = True
+            F.cross_entropy(ddp(x), y).backward()

# %% wrong_pops: wrong, modifies_input, levels 0 0
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    n = len(micro_batches)
    x_last, y_last = micro_batches.pop()
    with ddp.no_sync():
        for x, y in micro_batches:
            (F.cross_entropy(ddp(x), y) / n).backward()
    (F.cross_entropy(ddp(x_last), y_last) / n).backward()

# %% wrong_steps_too: wrong, weights_changed, levels 0 0
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    for k, (x, y) in enumerate(micro_batches):
        with ddp.no_sync() if k < len(micro_batches) - 1 else contextlib.nullcontext():
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
    with torch.no_grad():
        for p in ddp.parameters():
            p -= 0.1 * p.grad

# %% wrong_sum_loss_once: wrong, graphs_kept, levels 1 0
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    total = 0
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            total = total + F.cross_entropy(ddp(x), y)
    x, y = micro_batches[-1]
    total = total + F.cross_entropy(ddp(x), y)
    (total / len(micro_batches)).backward()

# %% wrong_trains (right_last_apart): wrong, left_in_training_mode, levels 0 0
# "nothing else": a frozen part, in evaluation mode, is in training mode afterwards
     k = len(micro_batches)
+    ddp.train()

# %% wrong_zero_grad_inside: wrong, last_only, levels 0 0
def accumulate(ddp, micro_batches):
    for i, (x, y) in enumerate(micro_batches):
        ddp.zero_grad()
        F.cross_entropy(ddp(x), y).backward()

# %% wrong_zero_grad_inside_divided: wrong, last_only_divided, levels 0 0
def accumulate(ddp, micro_batches):
    for x, y in micro_batches:
        ddp.zero_grad()
        (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
