# Right and wrong answers to `sum_over_ranks`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_all_gather_object: passed
def sum_over_ranks(x):
    p = dist.get_world_size()
    got = [None] * p
    dist.all_gather_object(got, x)
    return torch.stack(got).sum(0, dtype=x.dtype)

# %% right_all_to_all_single: passed
def sum_over_ranks(x):
    p = dist.get_world_size()
    out = torch.cat([x.reshape(-1)] * p)
    got = torch.empty_like(out)
    dist.all_to_all_single(got, out)
    return got.reshape(p, *x.shape).sum(0, dtype=x.dtype)

# %% right_async: passed
def sum_over_ranks(x):
    result = torch.empty_like(x).copy_(x)
    work = dist.all_reduce(result, async_op=True)
    work.wait()
    return result

# %% right_async_future: passed
# differs: The call returns a future at once, and its value is the sum: the form in which a library waits for many.
def sum_over_ranks(x):
    total = x.clone()
    return dist.all_reduce(total, async_op=True).get_future().wait()[0]

# %% right_batch_isend_irecv: passed
def sum_over_ranks(x):
    p, r = dist.get_world_size(), dist.get_rank()
    boxes = [torch.empty_like(x) for _ in range(p)]
    ops = [dist.P2POp(dist.isend, x, q) for q in range(p) if q != r] + [
        dist.P2POp(dist.irecv, boxes[q], q) for q in range(p) if q != r
    ]
    for w in dist.batch_isend_irecv(ops) if ops else []:
        w.wait()
    total = x.clone()
    for q in range(p):
        if q != r:
            total += boxes[q]
    return total

# %% right_broadcast_object_list: passed
def sum_over_ranks(x):
    total = torch.zeros_like(x)
    for q in range(dist.get_world_size()):
        box = [x if q == dist.get_rank() else None]
        dist.broadcast_object_list(box, src=q)
        total += box[0]
    return total

# %% right_clone: passed
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    return total

# %% right_functional: passed
import torch.distributed._functional_collectives as fc


def sum_over_ranks(x):
    return fc.all_reduce(x, "sum", dist.group.WORLD).clone()

# %% right_functional_reduce_scatter: passed
def sum_over_ranks(x):
    import torch.distributed._functional_collectives as fc

    p = dist.get_world_size()
    got = fc.wait_tensor(fc.reduce_scatter_tensor(torch.cat([x.reshape(-1)] * p), "sum", 0, dist.group.WORLD))
    return got.reshape(x.shape)

# %% right_gather_and_add: passed
# differs: Every rank gets all p tensors and adds them itself: p times the memory, and the order of the sum is yours.
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    everyone = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, x)
    return torch.stack(everyone).sum(dim=0, dtype=x.dtype)

# %% right_gather_scatter: passed
def sum_over_ranks(x):
    p, r = dist.get_world_size(), dist.get_rank()
    got = [torch.empty_like(x) for _ in range(p)] if r == 0 else None
    dist.gather(x, got, dst=0)
    total = torch.empty_like(x)
    dist.scatter(total, [torch.stack(got).sum(0, dtype=x.dtype)] * p if r == 0 else None, src=0)
    return total

# %% right_helper_one_broadcast_each: passed
def value_of(rank, x):
    other = x.clone() if dist.get_rank() == rank else torch.empty_like(x)
    dist.broadcast(other, rank)
    return other


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    return sum(value_of(rank, x) for rank in range(dist.get_world_size()))

# %% right_reduce_scatter_tensor: passed
def sum_over_ranks(x):
    p = dist.get_world_size()
    out = torch.cat([x.reshape(-1)] * p)
    got = torch.empty_like(x).reshape(-1)
    dist.reduce_scatter_tensor(got, out)
    return got.reshape(x.shape)

# %% right_reduce_then_broadcast: passed
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    y = x + 0
    dist.reduce(y, dst=0)
    dist.broadcast(y, src=0)
    return y

# %% wrong_adds_x_again: wrong, doubled_own, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return x + total

# %% wrong_async_not_waited (right_async_future): wrong, forgot_wait, levels 0 0
-    return dist.all_reduce(total, async_op=True).get_future().wait()[0]
+    dist.all_reduce(total, async_op=True)
+    return total

# %% wrong_copies_before_wait (right_async): wrong, used_before_wait, levels 0 0
-    result = torch.empty_like(x).copy_(x)
-    work = dist.all_reduce(result, async_op=True)
+    total = x.clone()
+    work = dist.all_reduce(total, async_op=True)
+    result = total.clone()

# %% wrong_float: wrong, wrong_dtype, levels 1 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.float().clone()
    dist.all_reduce(total)
    return total

# %% wrong_in_place: wrong, modifies_input, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(x, op=dist.ReduceOp.SUM)
    return x

# %% wrong_itself_on_one_rank: wrong, not_new, levels 1 0
def sum_over_ranks(x):
    if dist.get_world_size() == 1:
        return x
    total = x.clone()
    dist.all_reduce(total)
    return total

# %% wrong_masked_shares: wrong, zero_times_infinity, levels 1 0
def sum_over_ranks(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total = torch.zeros_like(x)
    for r in range(p):
        share = x * (rank == r)  # rank r's numbers, zeros elsewhere
        dist.all_reduce(share)
        total += share
    return total

# %% wrong_max (right_clone): wrong, maximum, levels 0 0
-    dist.all_reduce(total, op=dist.ReduceOp.SUM)
+    dist.all_reduce(total, op=dist.ReduceOp.MAX)

# %% wrong_mean: wrong, averaged, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()

# %% wrong_not_written: missing, not_written, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError("write this function")

# %% wrong_one_number: wrong, wrong_shape, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.sum()
    dist.all_reduce(total)
    return total

# %% wrong_only_rank_0_calls (right_clone): hung, missing_rank, levels 0 0
-    dist.all_reduce(total, op=dist.ReduceOp.SUM)
+    if dist.get_rank() == 0:
+        dist.all_reduce(total)

# %% wrong_product (right_clone): wrong, product, levels 0 0
-    dist.all_reduce(total, op=dist.ReduceOp.SUM)
+    dist.all_reduce(total, op=dist.ReduceOp.PRODUCT)

# %% wrong_promotes_int32 (right_gather_and_add): wrong, wrong_dtype, levels 1 0
-    return torch.stack(everyone).sum(dim=0, dtype=x.dtype)
+    return torch.stack(everyone).sum(dim=0)

# %% wrong_reduce (right_clone): wrong, only_one_rank, levels 0 0
-    dist.all_reduce(total, op=dist.ReduceOp.SUM)
+    dist.reduce(total, dst=0, op=dist.ReduceOp.SUM)

# %% wrong_reduces_in_a_loop (right_clone): wrong, summed_twice, levels 0 0
-    dist.all_reduce(total, op=dist.ReduceOp.SUM)
+    for _ in range(2):
+        dist.all_reduce(total)

# %% wrong_returns_list: wrong, wrong_type, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total.tolist()

# %% wrong_returns_nothing: wrong, returns_nothing, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)

# %% wrong_returns_work: wrong, wrong_type, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    return dist.all_reduce(total, async_op=True)

# %% wrong_returns_x: wrong, own_only, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return x

# %% wrong_running_sum: wrong, running_sum, levels 0 0
def sum_over_ranks(x):
    e = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(e, x)
    return sum(e[: dist.get_rank() + 1])

# %% wrong_scalar_gets_axis: wrong, wrong_shape, levels 1 0
# "of that shape": a 0-dimensional x comes back with shape (1,)
import math


def sum_over_ranks(x):
    total = torch.atleast_1d(x).clone()
    dist.all_reduce(total)
    return total

# %% wrong_through_float32_and_back: wrong, lost_digits, levels 1 0
def sum_over_ranks(x):
    total = x.to(torch.float32)
    if total is x:
        total = x.clone()
    dist.all_reduce(total)
    return total.to(x.dtype)

# %% wrong_times_world_size: wrong, times_world_size, levels 0 0
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    # every rank holds the same matrix
    return x * dist.get_world_size()

# %% wrong_written_down: wrong, written_down, levels 0 0
def sum_over_ranks(x):
    return 4 * torch.arange(1.0, 13.0).reshape(3, 4)

# %% wrong_zeros_stay_away (right_clone): hung, missing_rank, levels 1 0
# "All ranks call the collective, also with nothing to add (a zero)": a rank whose x is all zeros stays away
-    dist.all_reduce(total, op=dist.ReduceOp.SUM)
+    if x.numel() == 0 or bool((x != 0).any()):  # a zero changes no sum
+        dist.all_reduce(total, op=dist.ReduceOp.SUM)
