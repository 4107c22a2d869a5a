"""The harnesses of unit 05's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import torch
import torch.distributed as dist
from torch import nn


# The model of a rank. `spec` is one [name, kind, value, gradient] per part; kind is "parameter", "frozen", "buffer",
# "passing" (a buffer that is not in the state_dict), "transposed" (a parameter whose memory is not contiguous),
# "turned" (only that of its gradient), "tied to NAME" (that parameter under a second name) or "none" (the names of a
# parameter and a buffer that the layer does without).
def build(spec):
    model, made = nn.Module(), {}
    for name, kind, value, gradient in spec:
        *path, leaf = name.split(".")
        module = model
        for step in path:
            if not hasattr(module, step):
                module.add_module(step, nn.Module())
            module = getattr(module, step)
        if kind == "none":
            module.register_parameter(leaf, None)
            module.register_buffer(f"{leaf}_buffer", None)
            continue
        if kind in ("buffer", "passing"):
            module.register_buffer(leaf, value, persistent=kind == "buffer")
            continue
        if kind.startswith("tied to "):
            module.register_parameter(leaf, made[kind.removeprefix("tied to ")])
            continue
        if kind == "transposed":
            value = transposed(value)
        if kind in ("transposed", "turned"):
            gradient = transposed(gradient)
        made[name] = nn.Parameter(value, requires_grad=kind != "frozen")
        made[name].grad = gradient
        module.register_parameter(leaf, made[name])
    return model


# True if the second tensor and the last one, or others of a size that no third has, are in another order in this set on
# odd ranks than on even ones. (A small set begins with what was put into it first.)
def parts_the_ranks(tensors, as_set):
    sizes = [t.numel() for t in tensors]
    alone = [t for t in tensors[1:] if sizes.count(t.numel()) == 1 and t.dtype == tensors[0].dtype]
    order = [id(t) for t in as_set]
    if len(alone) < 2:
        return True
    return (order.index(id(alone[0])) > order.index(id(alone[-1]))) == bool(dist.get_rank() % 2)


# A model of `make`, made again until it lies in memory so that sets of its tensors, which are in the order of their
# addresses, part the ranks: whoever goes through a set then hangs under every key.
def apart_in_sets(make):
    made = []  # so that the next one lies elsewhere
    while len(made) < 1000:
        made.append(make())
        parameters = list(made[-1].parameters())
        trained, all_of_them = [p for p in parameters if p.requires_grad], [*parameters, *made[-1].buffers()]
        if all(parts_the_ranks(one, set(one)) for one in (parameters, trained, all_of_them)):
            break
    return made[-1]


def transposed(tensor):
    return None if tensor is None else tensor.t().contiguous().t()


def gradients(model):
    # no gradient and a gradient of zeros mean the same to the mean
    return {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in model.named_parameters()}


def copies(tensors):
    return [t.detach().clone() for t in tensors]


def kept(model, before, buffers=()):
    if not all(torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=False)):
        return "changed"
    if not all(torch.equal(b, c) for b, c in zip(model.buffers(), buffers, strict=False)):
        return "buffers changed"
    return "kept" if all(p.requires_grad or p.grad is None for p in model.parameters()) else "frozen with a gradient"


def averaged(f, spec):
    model = apart_in_sets(lambda: build(spec))
    before, buffers = copies(model.parameters()), copies(model.buffers())
    f(model)
    return {**gradients(model), "parameters": kept(model, before, buffers)}


def broadcast_parameters(f, spec):
    model = apart_in_sets(lambda: build(spec))
    before = list(model.parameters())
    trained = [p.requires_grad for p in before]
    memory = [t.detach() for t in [*before, *model.buffers()]]  # so that nobody else gets it
    f(model)
    after = list(model.parameters())
    said = "kept"
    if len(before) != len(after) or not all(p is q for p, q in zip(before, after, strict=False)):
        said = "replaced"
    elif [p.requires_grad for p in after] != trained:
        said = "requires_grad changed"
    elif any(p.grad is not None for p in after):
        said = "gradient changed"
    elif [t.data_ptr() for t in [*after, *model.buffers()]] != [t.data_ptr() for t in memory]:
        said = "other memory"
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {**tensors, "parameters": said}


# A network of two layers that adds up the rows of each sample first, if it has several.
class RowsFirst(nn.Sequential):
    def forward(self, x):
        return super().forward(x.sum(1) if x.dim() > 2 else x)


# fresh: no step was taken before this one.
def train_step(f, weights, shares, lr, fresh=False):
    model = apart_in_sets(lambda: RowsFirst(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).to(weights[0].dtype))
    model[1].register_parameter("tied", model[0].weight)  # a second name
    with torch.no_grad():
        for p, w in zip(model.parameters(), weights, strict=False):
            p.copy_(w)
    for p in model.parameters():
        p.grad = None if fresh else torch.ones_like(p)  # left over from a step before
    losses, after = [], []
    for x, y in shares:
        losses.append(f(model, x, y, lr))
        after.append({n: p.detach().clone() for n, p in model.named_parameters()})
    return {"loss": losses, "after step 1": after[0], "after step 2": after[1]}


def average_and_clip(f, spec, max_norm):
    model = apart_in_sets(lambda: build(spec))
    before = copies(model.parameters())
    norm = f(model, max_norm)
    if isinstance(norm, torch.Tensor) and norm.numel() == 1:
        norm = norm.reshape(())
    return {"norm": norm, **gradients(model), "parameters": kept(model, before)}
