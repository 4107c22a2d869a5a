"""The harnesses of unit 05's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import torch
from torch import nn


# The model of a rank. `spec` is one [name, kind, value, gradient] per part; kind is "parameter", "frozen", "buffer",
# "passing" (a buffer that is not in the state_dict), "transposed" (a parameter whose memory is not contiguous), "turned"
# (only that of its gradient) or "tied to NAME" (that parameter under a second name).
def build(spec):
    model, made = nn.Module(), {}
    for name, kind, value, gradient in spec:
        *path, leaf = name.split(".")
        module = model
        for step in path:
            if not hasattr(module, step):
                module.add_module(step, nn.Module())
            module = getattr(module, step)
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


def transposed(tensor):
    return None if tensor is None else tensor.t().contiguous().t()


def gradients(model):
    # no gradient and a gradient of zeros mean the same to the mean
    return {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in model.named_parameters()}


def kept(model, before):
    if not all(torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=False)):
        return "changed"
    return "kept" if all(p.requires_grad or p.grad is None for p in model.parameters()) else "frozen with a gradient"


def averaged(f, spec):
    model = build(spec)
    before = [p.detach().clone() for p in model.parameters()]
    f(model)
    return {**gradients(model), "parameters": kept(model, before)}


def broadcast_parameters(f, spec):
    model = build(spec)
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
    elif [t.data_ptr() for t in [*after, *model.buffers()]] != [t.data_ptr() for t in memory]:
        said = "other memory"
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {**tensors, "parameters": said}


def train_step(f, weights, shares, lr):
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    with torch.no_grad():
        for p, w in zip(model.parameters(), weights, strict=False):
            p.copy_(w)
    for p in model.parameters():
        p.grad = torch.ones_like(p)  # left over from a step before
    losses, after = [], []
    for x, y in shares:
        losses.append(f(model, x, y, lr))
        after.append({n: p.detach().clone() for n, p in model.named_parameters()})
    return {"loss": losses, "after step 1": after[0], "after step 2": after[1]}


def average_and_clip(f, spec, max_norm):
    model = build(spec)
    before = [p.detach().clone() for p in model.parameters()]
    norm = f(model, max_norm)
    return {"norm": norm, **gradients(model), "parameters": kept(model, before)}
