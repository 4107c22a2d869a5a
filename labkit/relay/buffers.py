"""The memory of tensors under way: their bytes, who claims which, and what an open receive shows.

Until its wait has returned, the memory of a receive holds numbers made up for this rank and this case, never the old
ones and never the new ones: a real network may write there at any time before. Memory that two open operations claim is
refused when the second is posted.
"""

from __future__ import annotations

import ctypes
import weakref
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from labkit.relay.phantom import Payload, Phantom

_READ_ONLY = 0x100  # PyBUF_READ
_memoryview_from = ctypes.pythonapi.PyMemoryView_FromMemory
_memoryview_from.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
_memoryview_from.restype = ctypes.py_object


class ReusedBuffer(RuntimeError):
    """A tensor was changed while it was being sent, or a receive into it was opened: the receiver may get
    either value."""


class UsedBeforeWait(RuntimeError):
    """A tensor was written to, sent or received into again while a receive into it was open."""


class NeverWaited(RuntimeError):
    """A tensor was used again whose operation is open and can never be waited for, because the request was
    thrown away."""


def tensor_bytes(tensor: torch.Tensor) -> Payload:
    """A tensor's elements in their order; of a tensor on "meta" their size alone. Raises RuntimeError where they are on
    another device."""
    if tensor.is_meta:
        return Phantom(tensor.numel() * tensor.element_size())
    if tensor.device.type != "cpu":
        raise elsewhere(tensor)
    if not tensor.numel():
        return b""
    plain = _in_one_piece(tensor)
    return bytes(_memory_of(plain))


def elsewhere(tensor: torch.Tensor) -> RuntimeError:
    """The exception for a tensor that the relay does not move."""
    return RuntimeError(f"the relay moves tensors of the CPU only, this one is on {tensor.device}")


def _in_one_piece(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a tensor, in their order; a copy only where they do not lie in one piece."""
    plain = tensor.detach()
    return (plain.resolve_conj().resolve_neg() if plain.is_complex() else plain).contiguous()


def _memory_of(tensor: torch.Tensor) -> memoryview:
    """The bytes of a contiguous tensor that has some, for as long as it lives. Not by way of numpy, after which torch
    could not free or resize its storage (FullyShardedDataParallel does)."""
    return _memoryview_from(tensor.data_ptr(), tensor.numel() * tensor.element_size(), _READ_ONLY)


def fill(tensor: torch.Tensor, data: bytearray | memoryview) -> None:
    """Write bytes that another rank handed over into `tensor`, whatever its strides. Raises ValueError where they are
    not as many.

    Autograd is not told, as by no network: of a buffer whose rows are received one after the other, each row may be in
    the graph of a computation already.
    """
    if tensor.numel() and not tensor.is_meta:
        flat = torch.frombuffer(data, dtype=tensor.dtype)
        tensor.data.copy_(flat.view(tensor.shape))


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """True if two tensors share an element's memory. Two columns of one matrix do not, though their address ranges
    overlap."""
    if not (a.numel() and b.numel()) or a.device.type != "cpu" or b.device.type != "cpu":
        return False
    (first, last), (other_first, other_last) = _range(a), _range(b)
    if last <= other_first or other_last <= first:
        return False
    try:
        return np.shares_memory(_addresses(a), _addresses(b), max_work=100_000)
    except np.exceptions.TooHardError:
        return False


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    """The first byte of a tensor's memory, and the first behind it."""
    reach = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (reach + 1) * tensor.element_size()


def _addresses(tensor: torch.Tensor) -> np.ndarray:
    """An array over the same memory; numpy has no bfloat16."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    return (plain.view(torch.int16) if plain.dtype == torch.bfloat16 else plain).numpy()


def checksum(tensor: torch.Tensor) -> int:
    """A checksum of a tensor's elements in their order: it changes when somebody writes to one."""
    if not tensor.numel() or tensor.is_meta:
        return 0
    plain = _in_one_piece(tensor)
    return zlib.crc32(_memory_of(plain))


def spoil(tensor: torch.Tensor, random: np.random.Generator) -> None:
    """Fill `tensor` with what nobody can use: numbers that differ from element to element, rank to rank and case to
    case.

    They are finite and of medium size, so that whatever is added to them or divided leaves a trace.
    """
    n = tensor.numel()
    if not n or tensor.is_meta:
        return
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        size = 200.0 if tensor.element_size() <= 2 else 5000.0
        made_up = torch.from_numpy(random.uniform(size / 2, size, n) * random.choice([-1.0, 1.0], n))
    elif tensor.dtype == torch.bool:
        made_up = torch.from_numpy(random.integers(0, 2, n))
    else:
        made_up = torch.from_numpy(np.frombuffer(random.bytes(n * tensor.element_size()), dtype=np.uint8).copy()).view(
            tensor.dtype
        )
    tensor.data.copy_(made_up.reshape(tensor.shape).to(tensor.dtype))


@dataclass(frozen=True)
class Claim:
    """The memory of an open operation. work: a weak reference to what waits for it."""

    name: str
    reads: list
    writes: list
    work: weakref.ref


def check(claims: Iterable[Claim], reads: list[torch.Tensor], writes: list[torch.Tensor]) -> None:
    """Raises UsedBeforeWait, ReusedBuffer or NeverWaited where one of `claims` is on the same memory and one of the two
    writes there."""
    for claim in claims:
        received = any(overlap(tensor, other) for tensor in (*reads, *writes) for other in claim.writes)
        if not received and not any(overlap(tensor, other) for tensor in writes for other in claim.reads):
            continue
        if claim.work() is None:
            raise NeverWaited(
                f"a tensor was used again while the {claim.name} that it belongs to was open, and nobody can wait for "
                "that "
                f"{claim.name} any more: its request was thrown away"
            )
        if received:
            raise UsedBeforeWait(
                f"a tensor was used again while the {claim.name} into it was open: "
                f"nobody knows what it holds until the wait() of that {claim.name} has returned"
            )
        raise ReusedBuffer(
            f"a receive was opened into a tensor that the {claim.name} was still sending: "
            "the receiver may get the old or the new values"
        )
