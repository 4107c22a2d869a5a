# Right and wrong answers to `average_gradients`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
from torch import nn

# %% right_async: passed
# differs: All all-reduces are started before the first is waited for, so their latencies overlap; the division comes before the sum.
def average_gradients(model):
    works = []
    for p in filter(lambda p: p.requires_grad, model.parameters()):
        if p.grad is None:
            p.grad = torch.zeros(p.shape, dtype=p.dtype)
        p.grad.data.div_(dist.get_world_size())
        works.append(dist.all_reduce(p.grad.data, async_op=True))
    for work in works:
        work.wait()

# %% right_average_operation: passed
def average_gradients(model):
    for name, p in model.named_parameters():
        if p.requires_grad:
            grad = torch.zeros_like(p.data) if p.grad is None else p.grad.data
            dist.all_reduce(grad, op=dist.ReduceOp.AVG)
            p.grad = grad

# %% right_divide_first_async: passed
def average_gradients(model):
    works = []
    for p in reversed(list(model.parameters())):
        if p.requires_grad:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad / dist.get_world_size()
            works.append(dist.all_reduce(p.grad, async_op=True))
    [w.wait() for w in works]

# %% right_gathered: passed
def average_gradients(model):
    p = dist.get_world_size()
    for parameter in model.parameters():
        if parameter.requires_grad:
            mine = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            everybody = [torch.empty_like(mine) for _ in range(p)]
            dist.all_gather(everybody, mine)
            parameter.grad = torch.stack(everybody).mean(dim=0)

# %% right_in_place: passed
def average_gradients(model: nn.Module) -> None:
    for p in model.parameters():
        if not p.requires_grad:
            continue
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()

# %% right_objects: passed
def average_gradients(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    box = [None] * dist.get_world_size()
    dist.all_gather_object(box, [None if p.grad is None else p.grad for p in trained])
    for k, p in enumerate(trained):
        p.grad = sum((g[k] if g[k] is not None else torch.zeros_like(p) for g in box), torch.zeros_like(p)) / len(box)

# %% right_one_bucket: passed
def average_gradients(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    flat = torch.nn.utils.parameters_to_vector([p.grad for p in trained])
    dist.all_reduce(flat)
    torch.nn.utils.vector_to_parameters(flat / dist.get_world_size(), [p.grad for p in trained])

# %% right_reduce_and_broadcast: passed
# differs: A reduce to rank 0, a division there, and a broadcast back to all.
def average_gradients(model):
    for p in model.parameters():
        if not p.requires_grad:
            continue
        g = torch.zeros_like(p) if p.grad is None else p.grad.clone()
        dist.reduce(g, dst=0)
        g = g / dist.get_world_size()
        dist.broadcast(g, src=0)
        p.grad = g

# %% wrong_avg_and_divides: wrong, divided_twice, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            p.grad.div_(dist.get_world_size())

# %% wrong_bfloat16: wrong, half_precision, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            grad = p.grad.bfloat16()
            dist.all_reduce(grad)
            p.grad = (grad / dist.get_world_size()).to(p.dtype)

# %% wrong_broadcast: wrong, copied_from_one_rank, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.broadcast(p.grad, src=0)

# %% wrong_buffers_too: wrong, buffers_changed, levels 0 1 1
def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
    for b in model.buffers():
        if b.is_floating_point():
            dist.all_reduce(b)
            b /= dist.get_world_size()

# %% wrong_by_contributors: wrong, divided_by_contributors, levels 1 1 0
def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            count = torch.tensor(0.0 if p.grad is None else 1.0)
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            dist.all_reduce(count)
            p.grad /= count

# %% wrong_clone: wrong, detached_copy, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            grad = p.grad.clone()
            dist.all_reduce(grad)
            grad /= dist.get_world_size()

# %% wrong_detached_numpy: wrong, detached_copy, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            grad = torch.from_numpy(p.grad.numpy().copy())
            dist.all_reduce(grad, op=dist.ReduceOp.AVG)

# %% wrong_divides_before_wait: wrong, used_before_wait, levels 0 0 0
def average_gradients(model):
    works = []
    for p in model.parameters():
        if p.requires_grad:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            works.append(dist.all_reduce(p.grad, async_op=True))
            p.grad /= dist.get_world_size()
    for work in works:
        work.wait()

# %% wrong_divides_twice: wrong, divided_twice, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= dist.get_world_size()
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()

# %% wrong_first_only: wrong, some_left_out, levels 0 0 0
def average_gradients(model):
    p = next(model.parameters())
    dist.all_reduce(p.grad)
    p.grad /= dist.get_world_size()

# %% wrong_float32_detour: wrong, lost_digits, levels 0 1 0
def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            g = torch.zeros_like(p) if p.grad is None else p.grad
            g = g.float()
            dist.all_reduce(g)
            p.grad = (g / dist.get_world_size()).to(p.dtype)

# %% wrong_four_ranks: wrong, wrong_factor, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= 4

# %% wrong_frozen: raised, AttributeError, levels 1 0 0
def average_gradients(model):
    for p in model.parameters():
        p.grad.div_(dist.get_world_size())
        dist.all_reduce(p.grad)

# %% wrong_frozen_gets_zeros (right_reduce_and_broadcast): wrong, frozen_with_gradient, levels 1 0 1
-        if not p.requires_grad:
-            continue

# %% wrong_frozen_gets_zeros_and_stays_local: wrong, frozen_with_gradient, levels 1 0 1
def average_gradients(model):
    for p in model.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        if p.requires_grad:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()

# %% wrong_frozen_passed_on: raised, TypeError, levels 1 0 0
def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()

# %% wrong_half: wrong, half_precision, levels 0 1 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            grad = p.grad.half()
            dist.all_reduce(grad)
            p.grad = grad.to(p.dtype) / dist.get_world_size()

# %% wrong_halves_on_one_rank: wrong, wrong_factor, levels 0 1 1
def average_gradients(model):
    p = max(dist.get_world_size(), 2)
    for w in model.parameters():
        if w.requires_grad:
            if w.grad is None:
                w.grad = torch.zeros_like(w)
            dist.all_reduce(w.grad)
            w.grad /= p

# %% wrong_last_not_waited: wrong, forgot_wait, levels 0 0 0
def average_gradients(model):
    work = None
    for p in model.parameters():
        if p.requires_grad:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            p.grad /= dist.get_world_size()
            if work is not None:
                work.wait()
            work = dist.all_reduce(p.grad, async_op=True)

# %% wrong_left_none: wrong, left_none, levels 1 1 0
def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(grad)
            grad /= dist.get_world_size()

# %% wrong_maximum: wrong, copied_from_one_rank, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, op=dist.ReduceOp.MAX)

# %% wrong_mean_not_assigned: wrong, sum_for_mean, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad / dist.get_world_size()

# %% wrong_not_waited: wrong, forgot_wait, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, async_op=True)
            p.grad /= dist.get_world_size()

# %% wrong_nothing: wrong, no_communication, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad.clone()

# %% wrong_own_divided: wrong, own_divided, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= dist.get_world_size()

# %% wrong_p_minus_1: wrong, wrong_factor, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size() - 1

# %% wrong_parameters: wrong, weights_changed, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= dist.get_world_size()

# %% wrong_rank_0_divides: wrong, divided_on_some_ranks, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            if dist.get_rank() == 0:
                p.grad /= dist.get_world_size()

# %% wrong_rank_0_leads: hung, missing_rank, levels 0 0 0
def average_gradients(model):
    if dist.get_rank() == 0:
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()

# %% wrong_rank_without_any_gradient_leaves: hung, missing_rank, levels 1 1 0
def average_gradients(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    if all(p.grad is None for p in trained):
        return  # backward has not run, nothing to average
    world_size = dist.get_world_size()
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad.div_(world_size)

# %% wrong_reduce: wrong, only_one_rank, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.reduce(p.grad, dst=0)
            p.grad /= dist.get_world_size()

# %% wrong_ring_neighbours: wrong, differs_between_ranks, levels 0 1 0
def average_gradients(model):
    r, n = dist.get_rank(), dist.get_world_size()
    for p in model.parameters():
        if p.requires_grad:
            g = torch.zeros_like(p) if p.grad is None else p.grad
            box = [torch.empty_like(g) for _ in range(n)]
            dist.all_gather(box, g)
            p.grad = (box[(r - 1) % n] + g + box[(r + 1) % n]) / 3

# %% wrong_running_mean: wrong, unequal_weights, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            everybody = [torch.empty_like(p.grad) for _ in range(dist.get_world_size())]
            dist.all_gather(everybody, p.grad)
            mean = everybody[0]
            for grad in everybody[1:]:
                mean = (mean + grad) / 2
            p.grad = mean

# %% wrong_set (right_in_place): hung, mismatched_shape, levels 0 0 0
-    for p in model.parameters():
+    for p in set(model.parameters()):

# %% wrong_shared_zeros: wrong, differs_between_ranks, levels 1 1 0
# "Replace the gradient of every parameter that is trained by its mean": two unused parameters of one shape share
# one tensor of zeros and end with the same gradient; one alone is right
def average_gradients(model):
    zeros = {}
    for p in model.parameters():
        if p.requires_grad and p.grad is None:
            key = p.shape, p.dtype
            if key not in zeros:
                zeros[key] = torch.zeros(p.shape, dtype=p.dtype)
            p.grad = zeros[key]
    for p in model.parameters():
        if p.requires_grad:
            sent = p.grad.contiguous()
            dist.all_reduce(sent)
            p.grad.copy_(sent / dist.get_world_size())

# %% wrong_skips_unused: hung, mismatched_shape, levels 1 1 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()

# %% wrong_step_too: wrong, weights_changed, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            p.data -= 0.1 * p.grad

# %% wrong_sum: wrong, sum_for_mean, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)

# %% wrong_tied_gathered_twice: wrong, reduced_twice, levels 1 0 1
def average_gradients(model):
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if p.requires_grad:
                mine = torch.zeros_like(p) if p.grad is None else p.grad
                everybody = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
                dist.all_gather(everybody, mine)
                p.grad = torch.stack(everybody).mean(dim=0)

# %% wrong_tied_twice: wrong, reduced_twice, levels 1 0 1
def average_gradients(model):
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if p.requires_grad:
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
                dist.all_reduce(p.grad)
                p.grad /= dist.get_world_size()

# %% wrong_two_ranks: wrong, wrong_factor, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= 2

# %% wrong_weights_by_nonzero: wrong, divided_by_contributors, levels 1 1 0
def average_gradients(model):
    for p in model.parameters():
        if not p.requires_grad:
            continue
        there = torch.tensor(float(p.grad is not None))
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(there)
        dist.all_reduce(p.grad)
        p.grad /= there

# %% wrong_weights_only: wrong, some_left_out, levels 0 0 0
def average_gradients(model):
    for p in model.parameters():
        if p.dim() > 1:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
