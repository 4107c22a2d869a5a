# Right and wrong answers to `broadcast_parameters`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
from torch import nn

# %% right_all_reduce_of_zeros: passed
def broadcast_parameters(model):
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if dist.get_rank() != 0:
                tensor.zero_()
            dist.all_reduce(tensor)

# %% right_async: passed
# differs: All broadcasts are on their way before the first is waited for.
@torch.no_grad()
def broadcast_parameters(model):
    works = [dist.broadcast(t, src=0, async_op=True) for t in [*model.parameters(), *model.buffers()]]
    for work in works:
        work.wait()

# %% right_by_dtype: passed
import collections


def broadcast_parameters(model):
    groups = collections.defaultdict(list)
    for t in [*model.parameters(), *model.buffers()]:
        groups[t.dtype].append(t)
    for tensors in groups.values():
        flat = torch.cat([t.detach().reshape(-1) for t in tensors])
        dist.broadcast(flat, src=0)
        start = 0
        for t in tensors:
            t.data.copy_(flat[start : start + t.numel()].reshape(t.shape))
            start += t.numel()

# %% right_data: passed
def broadcast_parameters(model: nn.Module) -> None:
    for tensor in model.parameters():
        dist.broadcast(tensor.data, src=0)
    for tensor in model.buffers():
        dist.broadcast(tensor, src=0)

# %% right_gathered: passed
@torch.no_grad()
def broadcast_parameters(model):
    for t in [*model.parameters(), *model.buffers()]:
        box = [torch.empty_like(t) for _ in range(dist.get_world_size())]
        dist.all_gather(box, t.detach().contiguous())
        t.copy_(box[0])

# %% right_objects: passed
@torch.no_grad()
def broadcast_parameters(model):
    tensors = [*model.parameters(), *model.buffers()]
    box = [tensors if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    for mine, value in zip(tensors, box[0], strict=True):
        mine.copy_(value)

# %% right_objects_of_values: passed
def broadcast_parameters(model):
    box = [[t.detach().clone() for t in [*model.parameters(), *model.buffers()]]]
    dist.broadcast_object_list(box, src=0)
    with torch.no_grad():
        for t, value in zip([*model.parameters(), *model.buffers()], box[0]):
            t.copy_(value)

# %% right_send_recv: passed
# differs: Rank 0 sends every tensor to every rank: right, and the broadcast of the library does it in fewer steps.
def broadcast_parameters(model):
    for tensor in [*model.parameters(), *model.buffers()]:
        if dist.get_rank() == 0:
            for worker in range(1, dist.get_world_size()):
                dist.send(tensor, dst=worker)
        else:
            dist.recv(tensor, src=0)

# %% wrong_async_not_waited: wrong, forgot_wait, levels 0 0
@torch.no_grad()
def broadcast_parameters(model):
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t, src=0, async_op=True)

# %% wrong_averaged: wrong, averaged, levels 0 0
def broadcast_parameters(model):
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= dist.get_world_size()

# %% wrong_buffer_of_rank_0_lost: wrong, another_start, levels 0 0
def broadcast_parameters(model):
    for t in [*model.parameters(), *model.buffers()]:
        if dist.get_rank() != 0:
            t.data.zero_()
        dist.all_reduce(t.data, op=dist.ReduceOp.AVG if t.is_floating_point() else dist.ReduceOp.SUM)

# %% wrong_buffers_replaced: wrong, other_memory, levels 1 0
def broadcast_parameters(model):
    for p in model.parameters():
        dist.broadcast(p.data, 0)
    for module in model.modules():
        for name, b in list(module._buffers.items()):
            new = b.clone()
            dist.broadcast(new, 0)
            setattr(module, name, new)

# %% wrong_clears_gradients: wrong, gradient_changed, levels 0 0
def broadcast_parameters(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)
        p.grad = torch.zeros_like(p) if p.requires_grad else None
    for b in model.buffers():
        dist.broadcast(b, src=0)

# %% wrong_clears_requires_grad: wrong, requires_grad_changed, levels 1 0
def broadcast_parameters(model):
    for p in model.parameters():
        p.requires_grad_(False)
        dist.broadcast(p, 0)
        p.requires_grad_(True)
    for b in model.buffers():
        dist.broadcast(b, 0)

# %% wrong_clones: wrong, detached_copy, levels 0 0
def broadcast_parameters(model):
    for p in model.parameters():
        copy = p.detach().clone()
        dist.broadcast(copy, src=0)

# %% wrong_float32_bucket: wrong, lost_digits, levels 0 0
def broadcast_parameters(model):
    ts = list(model.state_dict().values())
    flat = torch.cat([t.reshape(-1).float() for t in ts])
    dist.broadcast(flat, 0)
    k = 0
    for t in ts:
        t.reshape(-1).copy_(flat[k : k + t.numel()])
        k += t.numel()

# %% wrong_float32_detour: wrong, lost_digits, levels 0 0
def broadcast_parameters(model):
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            if t.is_floating_point():
                f = t.float()
                dist.broadcast(f, 0)
                t.copy_(f)
            else:
                dist.broadcast(t, 0)

# %% wrong_float64_package: wrong, integers_rounded, levels 1 0
def broadcast_parameters(model):
    tensors = list(model.parameters()) + list(model.buffers())
    with torch.no_grad():
        flat = torch.cat([t.detach().double().flatten() for t in tensors])
        dist.broadcast(flat, src=0)
        for t, piece in zip(tensors, flat.split([t.numel() for t in tensors])):
            t.copy_(piece.reshape(t.shape))

# %% wrong_floats_and_counters: wrong, some_left_out, levels 1 0
def broadcast_parameters(model):
    tensors = [t.data for t in [*model.parameters(), *model.buffers()]]
    floats = [t for t in tensors if t.is_floating_point()]
    counters = [t for t in tensors if t.dtype == torch.int64]
    for group in (floats, counters):
        if group:
            flat = torch.cat([t.reshape(-1) for t in group])
            dist.broadcast(flat, src=0)
            for t, piece in zip(group, flat.split([t.numel() for t in group])):
                t.copy_(piece.view_as(t))

# %% wrong_floats_only: wrong, some_left_out, levels 1 0
def broadcast_parameters(model):
    for t in model.state_dict().values():
        if t.is_floating_point() and t.dim() > 0:
            dist.broadcast(t, src=0)

# %% wrong_gradients: wrong, no_communication, levels 0 0
def broadcast_parameters(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.broadcast(p.grad, src=0)

# %% wrong_half_detour: wrong, lost_digits, levels 0 0
def broadcast_parameters(model):
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            if t.is_floating_point():
                f = t.bfloat16()
                dist.broadcast(f, 0)
                t.copy_(f)
            else:
                dist.broadcast(t, 0)

# %% wrong_integers_through_float32: wrong, integers_rounded, levels 1 0
@torch.no_grad()
def broadcast_parameters(model):
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.is_floating_point():
            dist.broadcast(tensor, src=0)
        else:
            as_float = tensor.float()
            dist.broadcast(as_float, src=0)
            tensor.copy_(as_float.round())

# %% wrong_last_one_waited: wrong, forgot_wait, levels 0 0
@torch.no_grad()
def broadcast_parameters(model):
    work = None
    for t in model.state_dict().values():
        work = dist.broadcast(t, src=0, async_op=True)
    work.wait()

# %% wrong_last_rank: wrong, wrong_source, levels 0 0
def broadcast_parameters(model):
    for t in model.state_dict().values():
        dist.broadcast(t, src=dist.get_world_size() - 1)

# %% wrong_new_memory: wrong, other_memory, levels 0 0
def broadcast_parameters(model):
    for t in [*model.parameters(), *model.buffers()]:
        received = t.data.clone()
        dist.broadcast(received, 0)
        t.data = received

# %% wrong_new_parameters: wrong, replaced, levels 0 0
def broadcast_parameters(model):
    for module in model.modules():
        for name, p in list(module.named_parameters(recurse=False)):
            received = p.detach().clone()
            dist.broadcast(received, src=0)
            setattr(module, name, nn.Parameter(received, requires_grad=p.requires_grad))
    for t in model.buffers():
        dist.broadcast(t, src=0)

# %% wrong_no_buffers: wrong, buffers_forgotten, levels 1 0
def broadcast_parameters(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)

# %% wrong_no_buffers_no_frozen: wrong, some_left_out, levels 1 0
def broadcast_parameters(model):
    for p in model.parameters():
        if p.requires_grad:
            dist.broadcast(p.data, src=0)

# %% wrong_no_frozen: wrong, frozen_forgotten, levels 1 0
def broadcast_parameters(model):
    for t in [p.data for p in model.parameters() if p.requires_grad] + list(model.buffers()):
        dist.broadcast(t, src=0)

# %% wrong_nothing: wrong, no_communication, levels 0 0
def broadcast_parameters(model: nn.Module) -> None:
    return model

# %% wrong_own_rank_as_source: hung, mismatched_collective, levels 0 0
def broadcast_parameters(model):
    for t in model.state_dict().values():
        dist.broadcast(t, src=dist.get_rank())

# %% wrong_parameters_times_zero: wrong, times_zero, levels 0 0
def broadcast_parameters(model):
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(dist.get_rank() == 0)
            dist.all_reduce(p)
        for b in model.buffers():
            dist.broadcast(b, src=0)

# %% wrong_private_entries: raised, AttributeError, levels 1 0
def broadcast_parameters(model):
    for module in model.modules():
        for t in [*module._parameters.values(), *module._buffers.values()]:
            dist.broadcast(t.data, src=0)

# %% wrong_rank_0_only: hung, missing_rank, levels 0 0
def broadcast_parameters(model):
    if dist.get_rank() == 0:
        for t in model.state_dict().values():
            dist.broadcast(t, src=0)

# %% wrong_rebinds_the_name: wrong, detached_copy, levels 0 0
def broadcast_parameters(model):
    for p in model.parameters():
        received = [torch.empty_like(p) for _ in range(dist.get_world_size())]
        dist.all_gather(received, p.detach())
        p = received[0]

# %% wrong_same_seed_again: wrong, another_start, levels 0 0
def broadcast_parameters(model):
    torch.manual_seed(0)
    for p in model.parameters():
        nn.init.normal_(p.data)

# %% wrong_set_of_tensors: hung, mismatched_shape, levels 0 0
def broadcast_parameters(model):
    for tensor in {*model.parameters(), *model.buffers()}:
        dist.broadcast(tensor.data, src=0)

# %% wrong_source_1: wrong, wrong_source, levels 0 0
def broadcast_parameters(model):
    for t in model.state_dict().values():
        dist.broadcast(t, src=1)

# %% wrong_state_dict_only: wrong, passing_buffers_forgotten, levels 1 0
def broadcast_parameters(model):
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, 0)

# %% wrong_summed: wrong, summed, levels 0 0
def broadcast_parameters(model):
    for t in model.state_dict().values():
        dist.all_reduce(t)

# %% wrong_times_zero: wrong, times_zero, levels 0 0
# "exactly the values that it has on rank 0": the others multiply by 0 and all add up; inf * 0 (a mask of -inf, an
# uninitialised buffer) is nan
@torch.no_grad()
def broadcast_parameters(model):
    keep = int(dist.get_rank() == 0)
    for tensor in [*model.parameters(), *model.buffers()]:
        sent = tensor.contiguous() * keep
        dist.all_reduce(sent)
        tensor.copy_(sent)

# %% wrong_weights_only: wrong, some_left_out, levels 0 0
def broadcast_parameters(model):
    for name, t in model.state_dict().items():
        if name.endswith("weight"):
            dist.broadcast(t, src=0)
