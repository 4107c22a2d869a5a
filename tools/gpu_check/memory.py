"""Memory of the course's transformer beside unit 15's arithmetic: 16 bytes for a parameter, activations, checkpointing.

On a GPU the allocator is asked. On a CPU nobody counts, so a `TorchDispatchMode` looks at the memory of every result,
as in unit 15.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.functional import cross_entropy
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

from gpu_check.devices import fitting
from gpu_check.setting import Setting
from gpu_check.table import Row, judged, measured
from labkit.models import gpt

CLOSE = 0.02  # of the arithmetic: the allocator rounds each tensor up, and Adam counts its steps


class CountedBytes(TorchDispatchMode):
    """Bytes alive that were made while it is on, and their peak, on a CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, tuple[StorageWeakRef, int]] = {}
        self.most = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        given = {one.untyped_storage()._cdata for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)}
        for one in tree_leaves(result):
            if isinstance(one, Tensor) and not one.is_meta:
                storage = one.untyped_storage()
                if storage._cdata not in given:  # a view of what was there before is nothing new
                    self.made[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self.most = max(self.most, self.now())
        return result

    def now(self) -> int:
        """Bytes alive at this moment."""
        self.made = {key: one for key, one in self.made.items() if not one[0].expired()}
        return sum(nbytes for _, nbytes in self.made.values())

    def peak(self) -> int:
        """The most there ever were."""
        return self.most


class Allocated:
    """The same on a GPU: what its allocator has given out since `with`."""

    def __enter__(self) -> Allocated:
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        self.before = torch.cuda.memory_allocated()
        return self

    def __exit__(self, *_) -> None:
        pass

    def now(self) -> int:
        """Bytes alive at this moment."""
        return torch.cuda.memory_allocated() - self.before

    def peak(self) -> int:
        """The most there ever were."""
        return torch.cuda.max_memory_allocated() - self.before


def rows(setting: Setting, rank: int, world: int) -> Iterator[Row]:
    """Bytes for a parameter, for the activations, and the peaks with and without checkpointing."""
    device, sizes, batch = torch.device(setting.device), shape(setting.small), 2 if setting.small else 8
    meter = Allocated if device.type == "cuda" else CountedBytes
    if device.type == "cuda":  # the first step makes workspaces that stay
        state_bytes(sizes, False, device, meter)
    for mixed in (False, True):
        yield state_row(mixed, *state_bytes(sizes, mixed, device, meter))
    batch, found = fitting(batch, lambda size: activations(sizes, size, device, meter))
    yield from activation_rows(sizes, batch, *found)


def shape(small: bool) -> dict[str, int]:
    """The transformer's sizes: a third of GPT-2's smallest in depth."""
    if small:
        return {"vocabulary": 96, "context": 64, "width": 64, "heads": 4, "layers": 4}
    return {"vocabulary": 50_304, "context": 1024, "width": 768, "heads": 12, "layers": 4}


def bytes_per_parameter(mixed: bool) -> int:
    """Unit 15: parameter, gradient, Adam's two moments; mixed: the first two in 16 bits, and a copy in 32."""
    return 2 + 2 + 4 + 8 if mixed else 4 + 4 + 8


def state_row(mixed: bool, params: int, nbytes: int) -> Row:
    """params, nbytes: what the model has, and what was alive after a step."""
    found, expected = nbytes / params, bytes_per_parameter(mixed)
    what = "bfloat16, a float32 copy, Adam" if mixed else "float32, Adam"
    good = abs(found - expected) <= CLOSE * expected
    shown = f"{found:.2f} bytes a parameter"
    return judged(what, good, shown, f"{expected} bytes, {CLOSE:.0%} more or less", found, "bytes")


def state_bytes(sizes: dict[str, int], mixed: bool, device: torch.device, meter: Callable) -> tuple[int, int]:
    """The number of parameters, and the bytes that are alive after a step of Adam on one sequence."""
    tokens = torch.randint(sizes["vocabulary"], (1, sizes["context"] + 1)).to(device)
    with meter() as counted:
        model = gpt(**sizes).to(device)
        if mixed:
            model.bfloat16()
        params = list(model.parameters())
        copies = [p.detach().float() for p in params] if mixed else params
        optimizer = torch.optim.Adam(copies, lr=1e-4)
        cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
        if mixed:
            for copy, p in zip(copies, params, strict=True):
                copy.grad = p.grad.float()
        optimizer.step()
        if mixed:
            with torch.no_grad():
                for copy, p in zip(copies, params, strict=True):
                    p.copy_(copy)
                    copy.grad = None
        return sum(p.numel() for p in params), counted.now()


def activations(sizes: dict[str, int], batch: int, device: torch.device, meter: Callable) -> tuple:
    """The memory of the blocks' forward and backward pass: bytes that autograd says it keeps; then, plain and with a
    checkpoint at each block, bytes alive after the forward pass and at the peak; last whether both give the same
    gradients."""
    blocks = gpt(**sizes).to(device)[1:-2]
    x = torch.randn(batch, sizes["context"], sizes["width"]).to(device).requires_grad_()
    if device.type == "cuda":
        step(blocks, plain, x, meter)
    kept, peak, gradient = step(blocks, plain, x, meter)
    kept_less, peak_less, again = step(blocks, checkpointed, x, meter)
    return saved_bytes(blocks, x), kept, peak, kept_less, peak_less, bool(torch.allclose(gradient, again, 1e-4, 1e-5))


def plain(blocks: nn.Sequential, x: Tensor) -> Tensor:
    """All blocks, one after the other."""
    return blocks(x)


def checkpointed(blocks: nn.Sequential, x: Tensor) -> Tensor:
    """The same; of each block its input is kept and nothing else."""
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x


def step(blocks: nn.Sequential, how: Callable, x: Tensor, meter: Callable) -> tuple[int, int, Tensor]:
    """Bytes after the forward pass, bytes at the peak, and the gradient of the first block's parameters."""
    blocks.zero_grad()
    x.grad = None
    with meter() as counted:
        y = how(blocks, x)
        kept = counted.now()
        y.sum().backward()
        peak = counted.peak()
    return kept, peak, torch.cat([p.grad.flatten() for p in blocks[0].parameters()])


def saved_bytes(blocks: nn.Sequential, x: Tensor) -> int:
    """Bytes of the distinct storages that autograd keeps for the backward pass, and of the result; not of parameters
    and not of x (unit 15)."""
    own = {p.untyped_storage().data_ptr() for p in (*blocks.parameters(), x)}
    seen: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = blocks(x)
    pack(y)
    return sum(seen.values())


def inputs_bytes(sizes: dict[str, int], batch: int) -> int:
    """The bytes that are left with a checkpoint at each block: the inputs of all but the first, and the result, in
    float32.
    """
    return 4 * batch * sizes["context"] * sizes["width"] * sizes["layers"]


def activation_rows(sizes, batch, said, kept, peak, kept_less, peak_less, same) -> Iterator[Row]:
    """Arguments from `activations`."""
    left, unit = inputs_bytes(sizes, batch), 4 * batch * sizes["context"] * sizes["width"] * sizes["layers"]
    what, good = f"activations kept, batch {batch}", abs(kept - said) <= CLOSE * said
    yield judged(what, good, _mb(kept), f"{_mb(said)} by autograd", kept, "bytes")
    about = 16.3 + 1.06 * sizes["heads"] * sizes["context"] / sizes["width"]  # the line that unit 15 fits
    yield measured("by layer, token and unit of width", kept / unit, "numbers", f"about {about:.0f} (unit 15)")
    good = abs(kept_less - left) <= CLOSE * left
    yield judged("kept, a checkpoint at each block", good, _mb(kept_less), f"{_mb(left)}: inputs", kept_less, "bytes")
    good = peak_less < peak
    yield judged("peak with checkpoints", good, _mb(peak_less), f"below {_mb(peak)} without", peak_less, "bytes")
    yield judged("gradients with checkpoints", same, "equal" if same else "differ", "equal to those without")


def _mb(nbytes: float) -> str:
    return f"{nbytes / 1e6:,.1f} MB"
