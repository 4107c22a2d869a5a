"""The harnesses of unit 06's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import builtins
import io
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel


def build(values, sizes):
    inputs, hidden, classes = sizes
    model = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, classes)).double()
    for parameter, part in zip(model.parameters(), parted(values, model), strict=False):
        parameter.data.copy_(part)
    return model


def parted(values, model):
    parts = torch.from_numpy(values).split([p.numel() for p in model.parameters()])
    return [part.view_as(parameter) for part, parameter in zip(parts, model.parameters(), strict=False)]


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors]).numpy().copy()


def gradients(model):
    return flat([torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()])


def with_buffer(values, sizes, seen):  # as batch normalisation has them
    model = build(values, sizes)
    # "module." is a part of its buffers' names, too, and they begin with letters of "module."
    model.add_module("mean_module", nn.Identity())
    model.mean_module.register_buffer("seen", torch.tensor([seen], dtype=torch.float32))  # narrower than the rest
    model.mean_module.register_buffer("batches", torch.tensor([2 * int(seen) + 1]))  # not every buffer holds floats
    return model


def with_momentum(model, velocity, lr, **settings):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, **({"momentum": 0.9} | settings))
    for parameter, part in zip(model.parameters(), parted(velocity, model), strict=False):
        optimizer.state[parameter]["momentum_buffer"] = part.clone()
    return optimizer


# An optimizer whose state is not that of SGD.
def with_moments(model, velocity, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for parameter, part in zip(model.parameters(), parted(velocity, model), strict=False):
        moments = {"step": torch.tensor(3.0), "exp_avg": part.clone(), "exp_avg_sq": part**2}
        optimizer.state[parameter].update(moments)
    return optimizer


def place_of_checkpoint(name="checkpoint.pt"):
    # Where the ranks of one case find each other's files; the launcher removes the folder when the case is over.
    folder = os.path.join(tempfile.gettempdir(), f"labkit-case-{os.getppid()}")
    os.makedirs(folder, exist_ok=True)
    return folder, os.path.join(folder, name)


# What f returns, called as torchrun starts it where each machine has two ranks: the local rank is 0 on every machine.
def on_machines_of_two(f, *arguments):
    before = os.environ.get("LOCAL_RANK")
    os.environ["LOCAL_RANK"] = str(dist.get_rank() % 2)
    try:
        return f(*arguments)
    finally:
        os.environ.pop("LOCAL_RANK", None)
        if before is not None:
            os.environ["LOCAL_RANK"] = before


def plain(numbers):
    try:
        return [float(number.detach() if isinstance(number, torch.Tensor) else number) for number in numbers]
    except TypeError:
        return numbers


def train_ddp(f, values, sizes, batches, lr):
    passes, forward = [], DistributedDataParallel.forward

    def counted(self, *arguments, **options):
        passes.append(torch.is_grad_enabled())
        return forward(self, *arguments, **options)

    DistributedDataParallel.forward = counted
    model = build(values, sizes)
    if batches[0][0].dim() > 2:  # as images: a network for samples of two axes
        model = nn.Sequential(nn.Flatten(1, 2), *model)
    model = model.to(batches[0][0].dtype)
    dtypes = [parameter.dtype for parameter in model.parameters()]
    try:
        losses = f(model, batches, lr)
    finally:
        DistributedDataParallel.forward = forward
    seen = {"passes": sum(passes), "trains": all(module.training for module in model.modules())}
    seen["dtype kept"] = [parameter.dtype for parameter in model.parameters()] == dtypes
    return {"weights": flat(model.parameters()).astype("float64"), "losses": plain(losses), **seen}


def uneven_loss(f, values, sizes, x, y):
    model = DistributedDataParallel(build(values, sizes))
    outputs = model(x)
    outputs.retain_grad()
    loss = f(outputs, y)
    if loss is None:
        return None
    differentiable = isinstance(loss, torch.Tensor) and loss.requires_grad
    if differentiable:
        loss.backward()
        loss = loss.detach()
    reached = outputs.grad is not None and (not len(x) or bool((outputs.grad != 0).any()))
    return {"gradient": gradients(model), "loss": float(loss), "differentiable": differentiable and reached}


def is_alive(node):
    # what the forward pass has saved for the backward pass is freed by it
    try:
        _ = node._saved_mat1
    except RuntimeError:
        return False
    return True


def modes(model):
    return [module.training for module in model.modules()]


# What became of the modes of a model's parts.
def mode_since(before, model):
    pairs = list(zip(before, modes(model), strict=True))
    if any(old and not new for old, new in pairs):
        return "evaluation"
    return "training" if any(new and not old for old, new in pairs) else "as it was"


# The gradient of a minibatch, without DDP; it goes through the hooks of the parameters.
def gradient_alone(model, batch):
    outputs = model(batch[0])
    return flat(torch.autograd.grad(functional.cross_entropy(outputs, batch[1]), list(model.parameters())))


def accumulate(f, values, sizes, micro_batches, one_twice, evaluates):
    if one_twice:
        micro_batches = [micro_batches[-1], *micro_batches[1:]]
    module = build(values, sizes)
    alone = gradient_alone(module, micro_batches[0])
    rows, nodes, alive = [], [], []

    def note(_, inputs, output):
        rows.append(len(inputs[0]))
        if output.grad_fn is not None:
            nodes.append(output.grad_fn)
        alive.append(sum(map(is_alive, nodes)))

    noting = module.register_forward_hook(note)
    model = DistributedDataParallel(module)
    if evaluates:
        (model if evaluates == "all of it" else module[1]).eval()
    before = modes(model)
    dist.barrier()  # what was sent before it, the constructor has sent
    f(model, micro_batches)
    noting.remove()
    kept = bool((flat(model.parameters()) == values).all())
    hooks = "left" if kept and abs(gradient_alone(module, micro_batches[0]) - alone).max() > 1e-9 else "none"
    seen = {"largest": max(rows, default=0), "graphs": max(alive, default=0), "on": model.require_backward_grad_sync}
    return {"gradient": gradients(model), "kept": kept, "hooks": hooks, "mode": mode_since(before, model), **seen}


def save_checkpoint(f, values, velocity, sizes, epoch, seen, older, adam):
    folder, path = place_of_checkpoint("checkpoint.pt" if older else "last")
    rank = dist.get_rank()
    alone = dist.new_group([rank], use_local_synchronization=True)
    module = with_buffer(values, sizes, seen)
    module.mean_module.register_buffer("scratch", torch.zeros(1, dtype=torch.float64), persistent=False)
    model = DistributedDataParallel(module, process_group=alone)
    optimizer = (with_moments if adam else with_momentum)(model, velocity, 0.25)
    written_by_others = rank == 0 and bool(os.listdir(folder))
    if rank == 0 and older:
        torch.save({"model": {"0.weight": torch.zeros(1)}, "optimizer": {}, "epoch": older}, path)
    save, python_open, wrote = torch.save, builtins.open, []

    def noted_save(content, place, *arguments, **options):
        if rank == 0:
            time.sleep(0.15)
        if isinstance(place, (str, os.PathLike)):
            wrote.append(os.fspath(place))
        return save(content, place, *arguments, **options)

    def noted_open(place, mode="r", *arguments, **options):
        if isinstance(place, (str, os.PathLike)) and set(mode) & set("wax+"):
            wrote.append(os.fspath(place))
        return python_open(place, mode, *arguments, **options)

    def slow(move):
        def moved(*arguments, **options):
            if rank == 0:
                time.sleep(0.15)
            return move(*arguments, **options)

        return moved

    moves = os.replace, os.rename
    torch.save, builtins.open, io.open = noted_save, noted_open, noted_open
    os.replace, os.rename = map(slow, moves)
    try:
        on_machines_of_two(f, path, model, optimizer, epoch)
    finally:
        torch.save, builtins.open, io.open = save, python_open, python_open
        os.replace, os.rename = moves
    there = os.path.exists(path)
    if rank != 0:
        mine = any(os.path.abspath(place).startswith(folder) for place in wrote)
        return {"file": "written by this rank" if mine else "there" if there else "not there yet"}
    if written_by_others:
        return {"file": "written by another rank"}
    return {"file": "there", **contents(path, module, optimizer)} if there else {"file": "never written"}


def content_of(path, weights_only):
    try:
        return torch.load(path, weights_only=weights_only)
    except Exception:
        return None


# The names in a state_dict of an optimizer, and its settings.
def names_in(state):
    states = {str(key): sorted(map(str, entry)) for key, entry in state.get("state", {}).items()}
    return states, [{name: str(value) for name, value in group.items()} for group in state.get("param_groups", [])]


def optimizer_in(content, optimizer):
    found = {"optimizer": "state_dict" if isinstance(content, dict) else type(content).__name__}
    if not isinstance(content, dict):
        return found
    groups, (states, settings) = content.get("param_groups"), names_in(optimizer.state_dict())
    if not groups or groups[0].get("lr") != 0.25:
        found["optimizer"] = "a part of the state_dict"
    elif content.get("state") and names_in(content)[0] != states:
        found["optimizer"] = "another state"
    elif names_in(content)[1] != settings:
        found["optimizer"] = "other settings"
    if moments := [s.get("momentum_buffer", s.get("exp_avg")) for s in content.get("state", {}).values()]:
        found["momentum"] = None if any(m is None for m in moments) else flat(moments)
    return found


def contents(path, module, right_optimizer):
    content, weights_only = content_of(path, True), True
    if content is None:
        content, weights_only = content_of(path, False), False
    if content is None:
        return {"entries": ["nothing that torch.load can read"]}
    if not isinstance(content, dict):
        return {"entries": [type(content).__name__]}
    if not {"model", "optimizer", "epoch"} <= set(content):
        return {"entries": sorted(map(str, content))}
    model, optimizer, epoch = content["model"], content["optimizer"], content["epoch"]
    found = {"entries": ["epoch", "model", "optimizer"], "epoch": epoch, "weights_only": weights_only}
    found["model"] = sorted(model) if isinstance(model, dict) else type(model).__name__
    if isinstance(model, dict) and all(isinstance(value, torch.Tensor) for value in model.values()):
        found["weights"] = flat([value for value in model.values() if value.is_floating_point()])
        found["counts"] = [int(value) for value in model.values() if value.dtype == torch.int64]
        found["dtypes kept"] = all(model[n].dtype == v.dtype for n, v in module.state_dict().items() if n in model)
    return found | optimizer_in(optimizer, right_optimizer)


class NamesDiffer(Exception):
    pass


def load_checkpoint(f, values, velocity, sizes, epoch, start, batches, lr, seen):
    folder, path = place_of_checkpoint()

    def loaded(values, seen, epoch):
        if dist.get_rank() == 0:
            saved = with_buffer(values, sizes, seen)
            old = with_momentum(saved, velocity, lr / 2, momentum=0.8, weight_decay=0.1)
            torch.save({"model": saved.state_dict(), "optimizer": old.state_dict(), "epoch": epoch}, path)
        module = with_buffer(start, sizes, 0)
        model = DistributedDataParallel(module)  # its constructor waits for all ranks: the file is there
        optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        try:
            return module, model, optimizer, on_machines_of_two(f, path, model, optimizer)
        except RuntimeError as error:
            if "Missing key" not in str(error):
                raise
            differ = NamesDiffer("the model's names begin with module., those in the file do not")
            raise differ.with_traceback(error.__traceback__) from error

    loaded(values + 1, seen + 1, epoch - 2)  # an older file of that name
    dist.barrier()
    module, model, optimizer, found = loaded(values, seen, epoch)
    if isinstance(found, torch.Tensor):
        found = found.item()
    own = [float(module.mean_module.seen), float(module.mean_module.batches)]
    trains = all(part.training for part in module.modules())
    for x, y in batches:
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    file = "there" if os.path.exists(path) else "gone"  # all ranks have returned: they have averaged gradients since
    weights = flat(model.parameters())
    return {"epoch": found, "weights": weights, "seen": own, "file": file, "trains": trains}
