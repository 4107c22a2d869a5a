"""Runs a whole PyTorch training script in a rank on the relay and tells, while it runs, what it does: the same notes as
`probes.script` takes of a program of TensorFlow and Horovod.

For the homework: the script is any program that trains one of the course's PyTorch models and, perhaps, averages with
torch.distributed, in whatever words (DistributedDataParallel, all_reduce after the backward pass). The probe stands at
four places that every such program passes: the call of a module, the optimizer's step, the collectives of its process
group, and the opening of a file.

`init_process_group` gives the script the relay's process group, whatever backend it names: torchrun's variables are in
the environment, and nothing is asked of a network.

All of this happens in the process of the script, and could be forged by a script that knows about it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading

import numpy as np
import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

from labkit.relay import backend, connection
from probes.life import TEST, gpu_of, live, numbers, see_course_data, see_options

MOST_BATCHES = 20_000
SMALL = 8  # elements of a tensor whose values are noted
_REDUCE = ("allreduce", "reduce_scatter", "reduce_scatter_single", "reduce", "allgather", "all_gather_single", "gather")


def run_script(name: str, source: str, arguments: list[str], data: dict, options: dict, place: dict) -> str:
    """Run a script as `torchrun ... name arguments...` would start it on one rank, and note what it does.

    data, options: as of `probes.script.run_script`. place: "rank", "world_size" and "per_node", ranks on a machine.
    """
    rank, size, per_node = place["rank"], place["world_size"], place["per_node"] or place["world_size"]
    here = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank % per_node, "GROUP_RANK": rank // per_node}
    here |= {"LOCAL_WORLD_SIZE": min(per_node, size - rank // per_node * per_node), "ROLE_RANK": rank}
    here |= {"ROLE_WORLD_SIZE": size, "TORCHELASTIC_RUN_ID": "none", "OMP_NUM_THREADS": 1}
    os.environ.update({name: str(value) for name, value in here.items()} | {"MASTER_ADDR": "127.0.0.1"})
    os.environ["MASTER_PORT"] = "29500"
    return live(Probe(sys.stdout.note, rank, options, size), name, source, arguments, data)


class Done(dist.Work):
    """The handle of an operation that is already complete."""

    def __init__(self, result):
        super().__init__()
        self._result = result

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def result(self):
        return self._result

    def get_future(self):
        future = torch.futures.Future()
        future.set_result(self._result)
        return future


class Probe:
    """Stands in torch. note: where to say what is seen, (meta, payload). options: as of `probes.script.run_script`."""

    def __init__(self, note, rank: int, options: dict, size: int):
        self._send, self.rank, self.size = note, rank, size
        self.spread, self.seed = float(options.get("spread", 0)), int(options.get("seed", 0))
        self.arrays, self.no_broadcast = int(options.get("arrays", 0)), bool(options.get("no_broadcast"))
        self.gpus = int(options.get("gpus", 0))
        self.shared, self.init = bool(options.get("shared")), bool(options.get("init"))
        self.updates = self.batches = self.made = self.told_size = 0
        self.parameters: list = []
        self._depth = threading.local()

    def note(self, meta: dict, payload: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # nobody listens any more
            self._send(meta, payload)

    def install(self, data: dict) -> None:
        import torch.distributed.nn

        connection.hide(os.path.dirname(__file__))
        torch.set_num_threads(1)
        torch.compile = _as_it_is
        see_course_data(data)
        see_options(self.note)
        self._give_group()
        if self.gpus:
            self._see_devices()
        self._see_modules()
        self._start_apart()
        register_optimizer_step_pre_hook(self._update)
        self._see_collectives()

    def initialise(self) -> None:
        """Make the process group in the script's place, where that was asked for."""
        if self.init:
            dist.init_process_group()

    # the process group
    def _give_group(self) -> None:
        original, mine = dist.init_process_group, {"rank": self.rank, "world_size": self.size}
        if dist.is_initialized():
            dist.destroy_process_group()  # the one that a rank of an exercise begins with

        def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, *_, **named):
            given = {"rank": rank, "world_size": world_size}
            for what, value in given.items():
                if value is not None and value >= 0 and value != mine[what]:
                    raise ValueError(f"init_process_group was given {what}={value}; torchrun started {mine[what]}")
            original("relay", store=dist.HashStore(), **mine)
            self.told_size = self.size

        dist.init_process_group = torch.distributed.distributed_c10d.init_process_group = init_process_group
        dist.is_torchelastic_launched = lambda: True

    # the GPU
    def _see_devices(self) -> None:
        """Pretend that this machine has GPUs, and end the script where it first puts something on one of them."""
        current = [0]

        def set_device(device) -> None:
            current[0] = _index(device, current[0])

        torch.cuda.is_available, torch.cuda.device_count = lambda: True, lambda: self.gpus
        torch.cuda.set_device = torch.accelerator.set_device_index = set_device
        torch.cuda.get_device_name = lambda *_: "GPU"
        torch.cuda.synchronize = torch.cuda.empty_cache = lambda *_: None
        torch.cuda.current_device = torch.accelerator.current_device_index = lambda: current[0]

        def touched(device) -> None:
            if str(device).startswith("cpu"):
                return
            self.note({"saw": "device", "index": gpu_of(_index(device, current[0]))})
            raise SystemExit(0)

        torch.set_default_device = touched  # its own mode would come before this one
        _Touched(touched).__enter__()

    # minibatches
    def _see_modules(self) -> None:
        call, probe = torch.nn.Module.__call__, self

        def watched(self, *arguments, **named):
            depth = getattr(probe._depth, "value", 0)
            if depth == 0:
                probe._look_at(arguments[0] if arguments else next(iter(named.values()), None))
            probe._depth.value = depth + 1
            try:
                return call(self, *arguments, **named)
            finally:
                probe._depth.value = depth

        torch.nn.Module.__call__ = watched

    def _look_at(self, x) -> None:
        if not isinstance(x, torch.Tensor) or x.dim() < 2 or not x.dtype.is_floating_point:
            return
        batch = x.detach().cpu().numpy()
        found = numbers(batch)
        self.batches += 1
        if found is None or self.batches > MOST_BATCHES:
            return
        tape = torch.is_grad_enabled()
        whole = tape and found[0] < TEST and self.updates < self.arrays
        payload = np.ascontiguousarray(batch, dtype=np.float32).tobytes() if whole else b""
        self.note({"saw": "batch", "numbers": found, "tape": tape}, payload)

    # weights that are not the same on all ranks, whatever the seeds are
    def _start_apart(self) -> None:
        """Whatever torch.nn.init fills is moved on every rank but rank 0, without using up random numbers."""
        if not self.spread or not self.rank:
            return
        for name in dir(torch.nn.init):
            fill = getattr(torch.nn.init, name)
            if name.endswith("_") and not name.startswith("_") and callable(fill):
                setattr(torch.nn.init, name, self._moved(fill))

    def _moved(self, fill):
        def filled(tensor, *arguments, **named):
            result = fill(tensor, *arguments, **named)
            random = np.random.default_rng([self.seed, self.rank, self.made])
            self.made += 1
            with torch.no_grad():
                tensor += torch.from_numpy(random.normal(0, self.spread, tuple(tensor.shape))).to(tensor.dtype)
            return result

        return filled

    # updates
    def _update(self, optimizer, _arguments, _named) -> None:
        pairs = [(p.grad, p) for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not pairs:
            return
        if not self.parameters:
            shapes = [list(parameter.shape) for _, parameter in pairs]
            self.note({"saw": "optimizer", **_about(optimizer), "shapes": shapes})
        self.parameters = [parameter for _, parameter in pairs]
        self.updates += 1
        payload = b""
        if self.updates <= self.arrays:
            payload = b"".join(_bytes(part) for k in (0, 1) for part in (pair[k] for pair in pairs))
        trained = (g for g in optimizer.param_groups if any(p.grad is not None for p in g["params"]))
        rate = min(float(group["lr"]) for group in trained)
        self.note({"saw": "update", "rate": rate, "initialised": dist.is_initialized()}, payload)

    # collectives
    def _see_collectives(self) -> None:
        group = backend.RelayProcessGroup
        for name in _REDUCE:
            setattr(group, name, self._reducing(getattr(group, name), name))
        group.allreduce_coalesced = group.allreduce
        broadcast, probe = group.broadcast, self

        def sent(self, tensors, opts=None):
            root = self._members[opts.rootRank] if opts is not None else 0
            real = tensors[0].dtype.is_floating_point
            size = sum(tensor.numel() for tensor in tensors)
            probe.note({"saw": "collective", "what": "broadcast", "root": root, "float": real, "size": size})
            return Done(tensors) if probe.no_broadcast else broadcast(self, tensors, opts)

        group.broadcast = sent

    def _reducing(self, operation, name: str):
        probe = self

        def reduced(group, first, *arguments, **named):
            tensors = _flat(first) or _flat(arguments[0])  # only the root of a gather has a place for what comes
            about = {"saw": "collective", "what": "allreduce", "root": None}
            about |= {"size": sum(t.numel() for t in tensors), "float": tensors[0].dtype.is_floating_point}
            small = name == "allreduce" and len(tensors) == 1 and tensors[0].numel() <= SMALL
            before = _finite(tensors[0]) if small else None
            work = operation(group, first, *arguments, **named)
            finish = getattr(work, "_finish", None)
            if before is None or finish is None:
                probe.note(about)
                return work

            def finished(meta, payload):
                finish(meta, payload)
                probe.note({**about, "in": before, "out": _finite(tensors[0])})

            work._finish = finished
            return work

        return reduced

    # the end
    def end(self, how: str, files: list[str], log: str | None) -> None:
        meta = {"saw": "end", "how": how, "files": [name[:200] for name in files], "log": log}
        meta |= {"initialised": bool(self.told_size), "size": self.told_size, "rank": self.rank}
        self.note(meta, b"".join(map(_bytes, self.parameters)) if self.arrays else b"")


def _as_it_is(model=None, **_named):
    """The model as it is, in place of torch.compile: a jail has no compiler, and the result is the same."""
    return model if model is not None else _as_it_is


class _Touched(TorchFunctionMode):
    """Calls `touched` with the device of each operation that names a GPU."""

    def __init__(self, touched):
        super().__init__()
        self._touched = touched

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.device:  # a name, and nothing is on it yet
            return func(*args, **kwargs)
        given = [one for one in (*args, *kwargs.values()) if isinstance(one, torch.device | str)]
        given = [one for one in given if str(one).startswith("cuda")]
        if not given and (func in (torch.Tensor.to, torch.Tensor.cuda) or func is torch._C._nn._parse_to):
            given = [one for one in (*args[:2], kwargs.get("device")) if type(one) is int]
        if given or func is torch.Tensor.cuda:
            self._touched(given[0] if given else None)
        return func(*args, **kwargs)


def _index(device, current: int) -> int:
    """The number of a GPU, named in any way that PyTorch takes; `current` where none is named."""
    if isinstance(device, int):
        return device if device >= 0 else current
    index = torch.device(device).index if device is not None else None
    return current if index is None else index


def _flat(tensors) -> list[torch.Tensor]:
    if isinstance(tensors, torch.Tensor):
        return [tensors]
    return [one for part in tensors for one in _flat(part)]


def _bytes(tensor: torch.Tensor) -> bytes:
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.float32).tobytes()


def _finite(tensor: torch.Tensor) -> list[float]:
    return [float(x) if np.isfinite(x) else 0.0 for x in np.ravel(tensor.detach().cpu().to(torch.float64).numpy())]


def _about(optimizer) -> dict:
    """The name of the optimizer's class and the numbers of its configuration."""
    known = [kind.__name__ for kind in type(optimizer).__mro__ if kind.__module__.startswith("torch.optim")]
    config = {
        str(name): value
        for name, value in optimizer.param_groups[0].items()
        if name not in ("params", "lr") and isinstance(value, (int, float, bool, tuple))
    }
    return {"name": known[0] if known else type(optimizer).__name__, "config": json.loads(json.dumps(config))}
