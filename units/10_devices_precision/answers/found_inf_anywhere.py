# Right and wrong answers to `found_inf_anywhere`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_gathers: passed
def found_inf_anywhere(grads):
    bad = sum(int((~torch.isfinite(g)).sum()) for g in grads)
    flags = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(flags, torch.tensor([bad]))
    return sum(int(f) for f in flags) > 0

# %% right_library: passed
# differs: The library's check counts for the rank, and the sum over the ranks is above 0 when anybody has found one.
def found_inf_anywhere(grads):
    found = torch.zeros(1)
    if grads:
        copies = [g.clone() for g in grads]
        torch._amp_foreach_non_finite_check_and_unscale_(copies, found, torch.ones(1))
    dist.all_reduce(found)
    return found.item() > 0

# %% right_max: passed
def found_inf_anywhere(grads):
    own = any(not g.isfinite().all() for g in grads)
    flag = torch.tensor(float(own))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)

# %% wrong_asks_first (right_max): wrong, too_many_collectives, levels 1 1 0
-    return bool(flag)
+    sure = torch.tensor(float(flag), dtype=torch.float32)
+    dist.all_reduce(sure)
+    return bool(sure)

# %% wrong_barrier_first (right_max): wrong, too_many_collectives, levels 1 1 0
     own = any(not g.isfinite().all() for g in grads)
+    dist.barrier()

# %% wrong_counts_in_int16: wrong, counts_wrap, levels 0 1 1
def found_inf_anywhere(grads):
    found = torch.zeros(1, dtype=torch.int16)
    for gradient in grads:
        found += (~gradient.isfinite()).sum(dtype=torch.int16)
    dist.all_reduce(found)
    return found.item() != 0

# %% wrong_counts_in_uint8: wrong, counts_wrap, levels 0 1 1
def found_inf_anywhere(grads):
    found = torch.zeros(1, dtype=torch.uint8)
    for gradient in grads:
        found += (~gradient.isfinite()).sum(dtype=torch.uint8)
    dist.all_reduce(found)
    return found.item() != 0

# %% wrong_flag_for_each: wrong, too_many_collectives, levels 1 1 0
def found_inf_anywhere(grads):
    flags = torch.zeros(2)
    for k, g in enumerate(grads):
        flags[k] = float(not g.isfinite().all())
    dist.all_reduce(flags[:1], op=dist.ReduceOp.MAX)
    dist.all_reduce(flags[1:], op=dist.ReduceOp.MAX)
    return bool(flags.any())

# %% wrong_halves_first: wrong, overflows_itself, levels 1 0 1
def found_inf_anywhere(grads):
    bad = torch.tensor(float(any(not g.half().isfinite().all() for g in grads)))
    dist.all_reduce(bad, op=dist.ReduceOp.MAX)
    return bool(bad)

# %% wrong_largest_is_infinite: wrong, overflows_itself, levels 1 0 1
def found_inf_anywhere(grads):
    bad = any(not bool((g.abs() < torch.finfo(g.dtype).max).all()) for g in grads)
    flag = torch.tensor([float(bad)])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())

# %% wrong_max_of_sizes: wrong, misses_nan, levels 0 1 1
def found_inf_anywhere(grads):
    largest = torch.tensor(max([float(g.abs().max()) for g in grads] or [0.0]))
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return not bool(largest.isfinite())

# %% wrong_min (right_max): wrong, needs_all_of_them, levels 0 1 0
-    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
+    dist.all_reduce(flag, op=dist.ReduceOp.MIN)

# %% wrong_no_nan (right_max): wrong, misses_nan, levels 0 1 1
-    own = any(not g.isfinite().all() for g in grads)
+    own = any(g.isinf().any() for g in grads)

# %% wrong_nothing_on_one_rank (right_max): wrong, unrecognised, levels 0 1 1
     own = any(not g.isfinite().all() for g in grads)
+    if dist.get_world_size() == 1:
+        return False

# %% wrong_one_after_the_other: wrong, too_many_collectives, levels 1 1 0
def found_inf_anywhere(grads):
    def anywhere(test):
        flag = torch.tensor(float(any(bool(test(g).any()) for g in grads)))
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        return bool(flag)

    return anywhere(torch.isinf) or anywhere(torch.isnan)

# %% wrong_own (right_max): wrong, skips_on_own_inf_only, levels 0 1 0
-    return bool(flag)
+    return own

# %% wrong_plus_only (right_max): wrong, misses_minus_infinity, levels 0 1 1
-    own = any(not g.isfinite().all() for g in grads)
+    own = any(g.isnan().any() or (g == float("inf")).any() for g in grads)

# %% wrong_reduce (right_max): wrong, ranks_disagree, levels 0 0 0
-    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
+    dist.reduce(flag, dst=0, op=dist.ReduceOp.MAX)

# %% wrong_reduces_gradients: wrong, too_many_bytes, levels 1 1 0
def found_inf_anywhere(grads):
    flat = torch.zeros(2**17)
    values = torch.cat([g.float().reshape(-1) for g in grads]) if grads else torch.zeros(0)
    flat[: len(values)] = torch.where(values.isfinite(), 0.0, 1.0)
    dist.all_reduce(flat)
    return bool(flat.any())

# %% wrong_sum_in_float32: wrong, overflows_itself, levels 1 0 1
def found_inf_anywhere(grads):
    total = torch.tensor(sum(float(g.float().sum()) for g in grads), dtype=torch.float32)
    dist.all_reduce(total)
    return not bool(total.isfinite())

# %% wrong_sums_norm: wrong, overflows_itself, levels 1 0 1
def found_inf_anywhere(grads):
    total = sum((g.sum().abs() for g in grads), torch.zeros(()))
    total = total.float()
    dist.all_reduce(total)
    return not bool(total.isfinite())

# %% wrong_type_of_the_first: wrong, overflows_itself, levels 1 0 1
def found_inf_anywhere(grads):
    numbers = torch.cat([g.flatten().to(grads[0].dtype) for g in grads]) if grads else torch.zeros(1)
    bad = not torch.isfinite(numbers).all()
    flag = torch.tensor([float(bad)])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())
