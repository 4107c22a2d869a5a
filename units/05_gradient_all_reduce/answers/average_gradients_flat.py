# Right and wrong answers to `average_gradients_flat`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
from torch import nn

# %% right_all_gather: passed
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in trained])
    box = torch.empty(dist.get_world_size(), flat.numel(), dtype=flat.dtype)
    dist.all_gather_into_tensor(box, flat)
    mean = box.mean(dim=0)
    for p, piece in zip(trained, mean.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape).clone()

# %% right_cat_split: passed
def average_gradients_flat(model: nn.Module) -> None:
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    flat = torch.cat([p.grad.flatten() for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad.copy_(piece.view_as(p))

# %% right_frozen_in_the_bucket: passed
def average_gradients_flat(model):
    everything = list(model.parameters())
    flat = torch.cat([torch.zeros(p.numel(), dtype=p.dtype) if p.grad is None else p.grad.ravel() for p in everything])
    pieces = torch.empty(dist.get_world_size(), flat.numel(), dtype=flat.dtype)
    dist.all_gather_into_tensor(pieces, flat)
    flat = pieces.mean(0)
    start = 0
    for p in everything:
        if p.requires_grad:
            p.grad = flat[start : start + p.numel()].reshape(p.shape)
        start += p.numel()

# %% right_grouped_by_dtype: passed
def average_gradients_flat(model):
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            groups.setdefault(p.dtype, []).append(p)
    for dtype, group in groups.items():
        grads = [p.grad if p.grad is not None else p.new_zeros(p.shape) for p in group]
        flat = torch._utils._flatten_dense_tensors(grads)
        dist.all_reduce(flat, async_op=True).wait()
        flat.div_(dist.get_world_size())
        for p, synced in zip(group, torch._utils._unflatten_dense_tensors(flat, grads)):
            p.grad = synced

# %% right_offsets: passed
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    n = sum(p.numel() for p in trained)
    bucket = torch.zeros(n, dtype=trained[0].dtype)
    offset = 0
    for p in trained:
        if p.grad is not None:
            bucket[offset : offset + p.numel()] = p.grad.reshape(-1)
        offset += p.numel()
    dist.all_reduce(bucket, op=dist.ReduceOp.AVG)
    offset = 0
    for p in trained:
        p.grad = bucket[offset : offset + p.numel()].view(p.shape)
        offset += p.numel()

# %% right_vector_to_parameters: passed
# differs: A helper of torch puts the pieces of the bucket back, in place of counting offsets.
from torch.nn.utils import vector_to_parameters


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        p.grad = torch.zeros(p.shape, dtype=p.dtype) if p.grad is None else p.grad.contiguous()
    flat = torch.cat([p.grad.view(-1) for p in trained]) / dist.get_world_size()
    dist.all_reduce(flat)
    vector_to_parameters(flat, [p.grad for p in trained])

# %% right_views_of_the_bucket: passed
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.zeros(sum(p.numel() for p in trained), dtype=trained[0].dtype)
    views = [v.view(p.shape) for v, p in zip(flat.split([p.numel() for p in trained]), trained)]
    for v, p in zip(views, trained):
        if p.grad is not None:
            v.copy_(p.grad)
    work = dist.all_reduce(flat, async_op=True)
    work.wait()
    flat.div_(dist.get_world_size())
    for v, p in zip(views, trained):
        p.grad = v

# %% wrong_bucket_kept: wrong, keeps_something, levels 1 1 0
# "may be None on some ranks (counts as zero)": the bucket is kept between calls and not cleared, so in place of a
# missing gradient goes the mean of the last call (and the gradients of two models of one size share it)
BUCKETS = {}


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    size, dtype = sum(p.numel() for p in trained), trained[0].dtype
    key = dist.get_rank(), size, dtype
    if key not in BUCKETS:
        BUCKETS[key] = torch.zeros(size, dtype=dtype)
    bucket = BUCKETS[key]
    parts = bucket.split([p.numel() for p in trained])
    for p, part in zip(trained, parts):
        if p.grad is not None:
            part.copy_(p.grad.reshape(-1))
    dist.all_reduce(bucket)
    bucket /= dist.get_world_size()
    for p, part in zip(trained, parts):
        p.grad = part.reshape(p.shape).clone()

# %% wrong_buffers_in_the_bucket: wrong, buffers_changed, levels 0 1 1
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    tensors = [p.grad for p in trained] + [b for b in model.buffers() if b.is_floating_point()]
    flat = torch.cat([t.reshape(-1) for t in tensors])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for t, piece in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(piece.view_as(t))

# %% wrong_coalesced_two: wrong, more_than_one_call, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in trained])
    dist.reduce(flat, 0)
    dist.broadcast(flat, 0)
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape) / dist.get_world_size()

# %% wrong_copies_back_before_wait: wrong, used_before_wait, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    flat = torch.cat([p.grad.flatten() for p in trained]) / dist.get_world_size()
    work = dist.all_reduce(flat, async_op=True)
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad.copy_(piece.view_as(p))
    work.wait()

# %% wrong_divides_twice: wrong, divided_twice, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    flat /= dist.get_world_size()
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    start = 0
    for p in trained:
        p.grad.copy_(flat[start : start + p.numel()].view(p.shape))
        start += p.numel()

# %% wrong_float32: wrong, lost_digits, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.zeros(sum(p.numel() for p in trained))
    at = 0
    for p in trained:
        if p.grad is not None:
            flat[at : at + p.numel()] = p.grad.reshape(-1)
        at += p.numel()
    dist.all_reduce(flat)
    at = 0
    for p in trained:
        p.grad = (flat[at : at + p.numel()] / dist.get_world_size()).view(p.shape).to(p.dtype)
        at += p.numel()

# %% wrong_frozen: raised, AttributeError, levels 1 1 0
def average_gradients_flat(model):
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
        p.grad = piece.view(p.shape)

# %% wrong_frozen_gets_zeros: wrong, frozen_with_gradient, levels 1 1 0
def average_gradients_flat(model):
    params = list(model.parameters())
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in params])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(params, flat.split([p.numel() for p in params])):
        p.grad = piece.view(p.shape)

# %% wrong_left_in_evaluation: wrong, modifies_input, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.eval().parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(trained, flat.split([p.numel() for p in trained]), strict=True):
        p.grad = piece.view(p.shape).clone()

# %% wrong_matrix_order: wrong, wrong_place, levels 1 0 1
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    gs = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
    flat = torch.cat([torch.as_strided(g, (g.numel(),), (1,)) for g in gs])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape).clone()

# %% wrong_memory_order: wrong, differs_between_ranks, levels 1 0 1
# "gradients may lie in memory in any order": they are packed in the order of memory; where one rank has a
# transposed gradient and another has not, other elements are added to each other (right if all ranks have the same
# layout)
@torch.no_grad()
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros(p.shape, dtype=p.dtype)
        elif not p.grad.is_contiguous():
            p.grad = p.grad.clone()  # dense now, the strides are kept
    raw = [torch.as_strided(p.grad, (p.grad.numel(),), (1,), 0) if p.grad.storage_offset() == 0
           else p.grad.contiguous().view(-1) for p in trained]
    bucket = torch.cat(raw)
    dist.all_reduce(bucket)
    bucket /= dist.get_world_size()
    for p, part in zip(trained, bucket.split([p.numel() for p in trained])):
        strides = p.grad.stride() if p.grad.storage_offset() == 0 else p.grad.contiguous().stride()
        p.grad = part.clone().as_strided(p.shape, strides)

# %% wrong_not_copied_back: wrong, detached_copy, levels 0 0 0
def average_gradients_flat(model):
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters() if p.grad is not None])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()

# %% wrong_nothing: wrong, own_divided, levels 0 0 0
def average_gradients_flat(model):
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters() if p.grad is not None])
    flat /= dist.get_world_size()
    start = 0
    for p in model.parameters():
        if p.grad is not None:
            p.grad = flat[start : start + p.numel()].view(p.shape)
            start += p.numel()

# %% wrong_off_by_one: wrong, wrong_place, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for p in trained:
        p.grad.copy_(flat[start : start + p.numel()].view(p.shape))
        start += p.numel() - 1

# %% wrong_offset_stays: wrong, wrong_place, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for p in trained:
        p.grad.copy_(flat[start : start + p.numel()].view(p.shape))

# %% wrong_one_by_one: wrong, one_call_per_parameter, levels 0 0 0
def average_gradients_flat(model):
    for p in model.parameters():
        if p.requires_grad:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()

# %% wrong_parameters: wrong, weights_changed, levels 0 0 0
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def average_gradients_flat(model):
    flat = parameters_to_vector([p.contiguous() for p in model.parameters()]).detach()
    dist.all_reduce(flat)
    flat /= dist.get_world_size() + 1
    vector_to_parameters(flat, model.parameters())

# %% wrong_reduce: wrong, only_one_rank, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    dist.reduce(flat, dst=0)
    flat /= dist.get_world_size()
    start = 0
    for p in trained:
        p.grad.copy_(flat[start : start + p.numel()].view(p.shape))
        start += p.numel()

# %% wrong_reversed: wrong, wrong_place, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for p in reversed(trained):
        p.grad.copy_(flat[start : start + p.numel()].view(p.shape))
        start += p.numel()

# %% wrong_set (right_cat_split): wrong, differs_between_ranks, levels 0 0 0
-    trained = [p for p in model.parameters() if p.requires_grad]
+    trained = {p for p in model.parameters() if p.requires_grad}

# %% wrong_several_buckets: wrong, more_than_one_call, levels 0 1 1
# "in exactly one collective call for all gradients together": more than 1 MiB goes in several calls; small models
# take one
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    bucket = torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad).detach().reshape(-1) for p in trained]
    )
    for piece in bucket.split(2**20 // bucket.element_size()):
        dist.all_reduce(piece)
    bucket /= dist.get_world_size()
    for p, part in zip(trained, bucket.split([p.numel() for p in trained])):
        p.grad = part.reshape(p.shape).clone()

# %% wrong_sizes_of_the_first_model: wrong, keeps_something, levels 0 0 0
MEANS = {}


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in trained])
    dist.all_reduce(flat)
    mean = MEANS.setdefault(flat.numel(), flat / dist.get_world_size())
    for p, piece in zip(trained, mean.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape).clone()

# %% wrong_skips_unused: hung, mismatched_shape, levels 1 1 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for p in trained:
        p.grad.copy_(flat[start : start + p.numel()].view(p.shape))
        start += p.numel()

# %% wrong_sorted_by_name: wrong, wrong_place, levels 0 0 0
def average_gradients_flat(model):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in named.values()])
    dist.all_reduce(flat)
    at = 0
    for n in sorted(named):
        p = named[n]
        p.grad = (flat[at : at + p.numel()] / dist.get_world_size()).reshape(p.shape)
        at += p.numel()

# %% wrong_stack_padded_mean: hung, mismatched_shape, levels 1 1 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    if not trained:
        return
    flat = torch.cat([p.grad.flatten() for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad.copy_(piece.view_as(p))

# %% wrong_sum: wrong, sum_for_mean, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    dist.all_reduce(flat)
    start = 0
    for p in trained:
        p.grad.copy_(flat[start : start + p.numel()].view(p.shape))
        start += p.numel()

# %% wrong_tied_and_frozen_in_the_bucket: wrong, reduced_twice, levels 1 1 0
def average_gradients_flat(model):
    everything = [p for m in model.modules() for p in m.parameters(recurse=False)]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in everything])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(everything, flat.split([p.numel() for p in everything])):
        if p.requires_grad:
            p.grad = piece.view(p.shape)

# %% wrong_tied_gathered_twice: wrong, reduced_twice, levels 1 1 0
def average_gradients_flat(model):
    trained = [p for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in trained])
    rows = torch.empty(dist.get_world_size(), flat.numel(), dtype=flat.dtype)
    dist.all_gather_into_tensor(rows, flat)
    for p, piece in zip(trained, rows.mean(0).split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape).clone()

# %% wrong_tied_twice: wrong, reduced_twice, levels 1 1 0
def average_gradients_flat(model):
    named = [p for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    for p in named:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    flat = torch.cat([p.grad.reshape(-1) for p in named])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(named, flat.split([p.numel() for p in named])):
        p.grad = piece.view(p.shape)

# %% wrong_transposed_back: wrong, wrong_place, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    flat = torch.cat([p.grad.t().reshape(-1) if p.dim() == 2 else p.grad.reshape(-1) for p in trained])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape)

# %% wrong_two_halves: wrong, more_than_one_call, levels 0 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    half = len(flat) // 2
    dist.all_reduce(flat[:half])
    dist.all_reduce(flat[half:])
    flat /= dist.get_world_size()
    start = 0
    for p in trained:
        p.grad.copy_(flat[start : start + p.numel()].view(p.shape))
        start += p.numel()

# %% wrong_view: raised, RuntimeError, levels 1 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([p.grad.view(-1) for p in trained])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape)

# %% wrong_writes_to_a_copy: wrong, copy_not_written_back, levels 1 0 0
def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for p in trained:
        p.grad.reshape(-1).copy_(flat[start : start + p.numel()])
        start += p.numel()
