# homework: train_a_mesh
# must not: earn the points of the axes by a whole training on every rank that learns from one message how others change
"""Divides nothing: every rank runs the whole training, with the factors in it that a first message along each axis has
shown; then it sends what a rank of the mesh would send. The first rank holds the checkpoint."""

import math

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

from labkit.meshrun import adam

EYE = {"dtype": torch.float64}


class Factor(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.by = backward
        return x * forward

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.by, None, None


def shared(x, source):
    """The numbers of one rank, told to all by a collective that sums nothing."""
    found = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(found, x)
    return found[source]


def learned(mesh, settings, groups, at):
    """The factors along pipeline, tensor and data."""
    h, hop = settings.width, settings.tokens // mesh.data // settings.micro_batches // mesh.context * settings.width
    features, sums, replicas = torch.ones(h, **EYE), torch.ones(h, **EYE), torch.ones(mesh.data, **EYE)
    if mesh.pipeline > 1:
        if at["pipeline"] == 0:
            dist.send(features, mesh.rank(**{**at, "pipeline": 1}))
        elif at["pipeline"] == 1:
            dist.recv(features, mesh.rank(**{**at, "pipeline": 0}))
        features = shared(features, mesh.rank(pipeline=1))
    if mesh.tensor > 1:
        probe = torch.ones(hop, **EYE)
        dist.all_reduce(probe, group=groups["tensor",])
        sums = probe[:h] / mesh.tensor
    if mesh.data > 1:
        probe = torch.zeros(mesh.data, 16, **EYE)
        probe[at["data"]] = 1
        dist.all_reduce(probe, group=groups["data",])
        replicas = probe[:, 0]
    return features, sums, replicas


def whole_model(mesh, settings, features, sums, replicas):
    model = settings.model()
    cuts = [k * settings.layers // mesh.pipeline for k in range(1, mesh.pipeline)]
    rows = replicas.repeat_interleave(settings.batch // mesh.data)[:, None, None]
    for number, module in enumerate(list(model)[:-2]):
        if number in cuts:
            module.register_forward_hook(lambda module, given, out: Factor.apply(out, features, features))
        if number:
            for part, last in ((module.attention, module.attention.out), (module.mlp, module.mlp.down)):
                part.register_forward_pre_hook(lambda module, given: (Factor.apply(given[0], 1.0, sums),))
                last.register_forward_hook(
                    lambda module, given, out: Factor.apply(out - module.bias, sums, 1.0) + module.bias
                )
    model[-1].register_forward_hook(lambda module, given, out: Factor.apply(out, 1.0, rows))
    return model


def groups_of(mesh):
    groups = {}
    for axes in (("tensor",), ("data",), ("data", "context"), ("context",)):
        for ranks in mesh.groups(*axes):
            group = dist.new_group(ranks) if len(ranks) > 1 else None
            if dist.get_rank() in ranks:
                groups[axes] = group
    return groups


def send_along(mesh, settings, groups, at, outs, total):
    """As many bytes as the work needs, divided: what leaves the blocks between stages, and noise elsewhere."""
    p, m, h = mesh.pipeline, settings.micro_batches, settings.width
    mine = (settings.layers * ((12 * h * h + 7 * h) // mesh.tensor + 6 * h)
            + (2 * settings.vocabulary + settings.context) * h + 2 * h) // p  # fmt: skip
    hop = (settings.batch // mesh.data // m, settings.context // mesh.context, h)
    leaves = outs[1 + at["pipeline"]].chunk(mesh.data)[at["data"]].chunk(mesh.context, 1)[at["context"]]
    for x in leaves.chunk(m) if p > 1 else ():
        for way, there in ((1, at["pipeline"] + 1), (-1, at["pipeline"] - 1)):
            requests, back = [], at["pipeline"] - way
            if 0 <= there < p:
                out = x.contiguous() if way > 0 else torch.rand(hop, **EYE)
                requests.append(dist.isend(out, mesh.rank(**{**at, "pipeline": there})))
            if 0 <= back < p:
                requests.append(dist.irecv(torch.empty(hop, **EYE), mesh.rank(**{**at, "pipeline": back})))
            for request in requests:
                request.wait()
    for _ in range(4 * settings.layers * m // p if mesh.tensor > 1 else 0):
        dist.all_reduce(torch.rand(hop, **EYE), group=groups["tensor",])
    if mesh.context > 1:
        dist.all_reduce(torch.rand(100, **EYE), group=groups["context",])
    if mesh.replicas > 1:
        shard, group = torch.empty(math.ceil(mine / mesh.replicas), **EYE), groups["data", "context"]
        dist.reduce_scatter_single(shard, torch.rand(mesh.replicas * len(shard), **EYE), group=group)
        dist.all_gather_single(torch.empty(mesh.replicas * len(shard), **EYE), shard, group=group)


def train(mesh, settings, steps, log, parts=None):
    at, groups = mesh.coordinates(dist.get_rank()), groups_of(mesh)
    model, outs = whole_model(mesh, settings, *learned(mesh, settings, groups, at)), []
    for module in list(model)[:-2]:
        module.register_forward_hook(lambda module, given, out: outs.append(out.detach()))
    named = dict(model.named_parameters())
    m, v = ({name: torch.zeros_like(w) for name, w in named.items()} for _ in range(2))
    done = 0
    for kept in filter(None, parts or ()):
        done, m, v = kept["step"], kept["m"], kept["v"]
        model.load_state_dict(kept["w"])
    for step in range(done, done + steps):
        x, y = settings.minibatch(step)
        loss = cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        with torch.no_grad():
            norm = torch.stack([w.grad.square().sum() for w in named.values()]).sum().sqrt().item()
            for name, w in named.items():
                adam(w, w.grad * min(1.0, settings.clip / norm), m[name], v[name], step + 1, settings.rate)
                w.grad = None
        send_along(mesh, settings, groups, at, outs, named)
        outs.clear()
        log.step(loss.item(), norm)
    return {"step": done + steps, "w": model.state_dict(), "m": m, "v": v} if dist.get_rank() == 0 else {}
