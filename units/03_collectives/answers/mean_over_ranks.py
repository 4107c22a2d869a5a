# Right and wrong answers to `mean_over_ranks`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_after: passed
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone() if x.is_floating_point() else x.to(torch.float32)
    dist.all_reduce(total)
    return total / dist.get_world_size()

# %% right_all_to_all: passed
# differs: Everybody sends x to everybody and takes the mean of what has come: one step, and p - 1 times the bytes.
def mean_over_ranks(x):
    x = x if x.is_floating_point() else x.double()
    p = dist.get_world_size()
    theirs = [torch.empty_like(x) for _ in range(p)]
    dist.all_to_all(theirs, [x] * p)
    return torch.stack(theirs).mean(0)

# %% right_async_then: passed
def mean_over_ranks(x):
    mean = x.double() if not x.is_floating_point() else x.clone()
    future = dist.all_reduce(mean, async_op=True).get_future()
    return future.then(lambda done: done.value()[0] / dist.get_world_size()).wait()

# %% right_before: passed
# differs: Each rank divides first and the shares are added: nothing can overflow in the sum, and the last bit may differ.
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    share = x / dist.get_world_size()
    dist.all_reduce(share, op=dist.ReduceOp.SUM)
    return share

# %% right_double: passed
def mean_over_ranks(x):
    dtype = x.dtype if x.dtype.is_floating_point else torch.float64
    mean = torch.empty(x.shape, dtype=dtype)
    mean.copy_(x)
    dist.all_reduce(mean)
    mean /= dist.get_world_size()
    return mean

# %% right_gather: passed
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    gathered = [torch.empty_like(x) for _ in range(p)]
    dist.all_gather(gathered, x.contiguous())
    stacked = torch.stack(gathered)
    if not stacked.is_floating_point():
        stacked = stacked.double()
    return stacked.mean(dim=0)

# %% right_gather_objects: passed
def mean_over_ranks(x):
    x = x if x.is_floating_point() else x.double()
    p = dist.get_world_size()
    theirs = [None] * p
    dist.gather_object(x, theirs if dist.get_rank() == p - 1 else None, dst=p - 1)
    mean = [None]
    dist.scatter_object_list(mean, [torch.stack(theirs).mean(0)] * p if theirs[0] is not None else [None] * p, src=p - 1)
    return mean[0]

# %% right_reduce_scatter: passed
def mean_over_ranks(x):
    x = x if x.is_floating_point() else x.double()
    mean = torch.empty_like(x)
    dist.reduce_scatter(mean, [x / dist.get_world_size() for _ in range(dist.get_world_size())])
    return mean

# %% wrong_adds_in_16_bits: wrong, overflows, levels 1 0
def mean_over_ranks(x):
    wide = x.clone() if x.is_floating_point() else x.to(torch.int16)
    dist.all_reduce(wide)
    return wide / dist.get_world_size()

# %% wrong_adds_in_int32: wrong, overflows, levels 1 0
def mean_over_ranks(x):
    total = x.clone() if x.is_floating_point() else x.to(torch.int32, copy=True)
    dist.all_reduce(total)
    return total / dist.get_world_size()

# %% wrong_adds_in_int64: wrong, overflows, levels 1 0
def mean_over_ranks(x):
    total = x.clone() if x.is_floating_point() else x.to(torch.int64, copy=True)
    dist.all_reduce(total)
    return total / dist.get_world_size()

# %% wrong_alone_dtype: wrong, wrong_dtype, levels 1 0
# on one rank integers stay integers
import math


def mean_over_ranks(x):
    p = dist.get_world_size()
    if p == 1:
        return x.clone()
    total = x.clone() if x.is_floating_point() else x.double()
    dist.all_reduce(total)
    return total / p

# %% wrong_async_not_waited: wrong, forgot_wait, levels 0 0
def mean_over_ranks(x):
    mean = x.double() if not x.is_floating_point() else x.clone()
    dist.all_reduce(mean, async_op=True)
    return mean / dist.get_world_size()

# %% wrong_back_to_integers: wrong, floor_division, levels 1 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.to(torch.float64, copy=True)
    dist.all_reduce(total)
    return (total / dist.get_world_size()).to(x.dtype)

# %% wrong_divides_before_wait: wrong, used_before_wait, levels 0 0
def mean_over_ranks(x):
    mean = x.double() if not x.is_floating_point() else x.clone()
    work = dist.all_reduce(mean, async_op=True)
    mean /= dist.get_world_size()
    work.wait()
    return mean

# %% wrong_divides_by_nonzero_elementwise: wrong, zeros_not_counted, levels 0 0
def mean_over_ranks(x):
    total = x.clone() if x.is_floating_point() else x.double()
    there = (x != 0).to(total.dtype)
    dist.all_reduce(total)
    dist.all_reduce(there)
    return total / there.clamp(min=1)

# %% wrong_divides_by_nonzero_integers_only: wrong, zeros_not_counted, levels 1 0
def mean_over_ranks(x):
    if x.is_floating_point():
        total = x.clone()
        dist.all_reduce(total)
        return total / dist.get_world_size()
    total, there = x.double(), (x != 0).double()
    dist.all_reduce(total)
    dist.all_reduce(there)
    return total / there.clamp(min=1)

# %% wrong_divides_by_nonzero_ranks: wrong, zeros_not_counted, levels 0 0
def mean_over_ranks(x):
    total = x.clone() if x.is_floating_point() else x.double()
    there = torch.tensor(float(x.any()))
    dist.all_reduce(total)
    dist.all_reduce(there)
    return (total / there).to(total.dtype)

# %% wrong_divides_integers_in_place: raised, RuntimeError, levels 1 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    total /= dist.get_world_size()
    return total

# %% wrong_divides_twice: wrong, divided_twice, levels 0 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    share = x / p
    dist.all_reduce(share)
    return share / p

# %% wrong_floor_division: wrong, floor_division, levels 1 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    if x.is_floating_point():
        total = x.clone()
        dist.all_reduce(total)
        return total / p
    total = x.to(torch.int64)
    dist.all_reduce(total)
    return total // p

# %% wrong_floors_first: wrong, floors_before_the_sum, levels 1 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    share = x / p if x.is_floating_point() else x // p
    dist.all_reduce(share)
    return share

# %% wrong_four_ranks: wrong, fixed_world_size, levels 0 0
RANKS = 4


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.float() if not x.is_floating_point() else x.clone()
    dist.all_reduce(total)
    return total / RANKS

# %% wrong_halves_become_float32: wrong, wrong_dtype, levels 0 1
def mean_over_ranks(x):
    total = x.clone() if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32)
    dist.all_reduce(total)
    return total / dist.get_world_size()

# %% wrong_in_float32_and_back: wrong, lost_digits, levels 0 1
def mean_over_ranks(x):
    mean = torch.zeros(x.shape, dtype=torch.float32)
    mean += x
    dist.all_reduce(mean)
    mean /= dist.get_world_size()
    return mean.to(x.dtype) if x.is_floating_point() else mean

# %% wrong_in_place: wrong, modifies_input, levels 0 1
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point():
        x = x.float()
    dist.all_reduce(x)
    return x / dist.get_world_size()

# %% wrong_int32_not_widened: wrong, overflows, levels 1 0
def mean_over_ranks(x):
    small = x.dtype in (torch.uint8, torch.int8, torch.int16)
    total = x.to(torch.float32) if small else x.clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()

# %% wrong_itself_on_one_rank: wrong, not_new, levels 0 1
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    mean = x if x.is_floating_point() else x.to(torch.float32)
    if p == 1:
        return mean  # the mean of one
    mean = mean.clone()
    dist.all_reduce(mean)
    return mean / p

# %% wrong_mean_of_elements: wrong, wrong_shape, levels 0 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    mean = x.float().mean()
    dist.all_reduce(mean)
    return mean / dist.get_world_size()

# %% wrong_only_uint8_widened (right_after): wrong, overflows, levels 1 0
# "if x holds integers ... the mean": only uint8 is widened; int8 (100 + 100), int16 and int32 overflow in the sum
-    total = x.clone() if x.is_floating_point() else x.to(torch.float32)
+    # 200 + 100 does not fit into 8 bits
+    total = x.to(torch.float32) if x.dtype == torch.uint8 else x.clone()

# %% wrong_overflows (right_after): wrong, overflows, levels 1 0
-    total = x.clone() if x.is_floating_point() else x.to(torch.float32)
+    total = x.clone()

# %% wrong_own_divided: wrong, own_divided, levels 0 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return x / dist.get_world_size()

# %% wrong_p_minus_1: wrong, divided_by_p_minus_1, levels 0 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    last_rank = dist.get_world_size() - 1
    total = x.float() if not x.is_floating_point() else x.clone()
    dist.all_reduce(total)
    return total / last_rank

# %% wrong_rank_0_divides: wrong, divided_on_one_rank, levels 0 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone() if x.is_floating_point() else x.float()
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        total = total / dist.get_world_size()
    return total

# %% wrong_reduce: wrong, only_one_rank, levels 0 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone() if x.is_floating_point() else x.float()
    dist.reduce(total, 0)
    if dist.get_rank() == 0:
        total /= dist.get_world_size()
    return total

# %% wrong_reduce_divided_everywhere: wrong, reduced_to_one_rank, levels 0 0
def mean_over_ranks(x):
    total = x.clone() if x.is_floating_point() else x.double()
    dist.reduce(total, 0)
    return total / dist.get_world_size()

# %% wrong_sum: wrong, sum_for_mean, levels 0 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total

# %% wrong_sum_as_float: wrong, sum_for_mean, levels 0 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone() if x.is_floating_point() else x.float()
    dist.all_reduce(total)
    return total

# %% wrong_two_ranks: wrong, fixed_world_size, levels 0 0
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return 0.5 * total
