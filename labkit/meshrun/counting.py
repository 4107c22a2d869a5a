"""Counters of a rank: the bytes alive on it, and the bytes it sends by axis of the mesh."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as distributed_c10d
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labkit.interconnect.collectives import rounds
from labkit.scale.mesh import Mesh


class Alive(TorchDispatchMode):
    """Counts the bytes of all tensors that were made while it is on and are still alive: weights, gradients, moments,
    activations. peak: the most so far. told(bytes): called where the peak has grown by a hundredth, by the thread that
    has made this."""

    def __init__(self, told: Callable[[int], None] | None = None):
        super().__init__()
        self.peak, self.told = 0, told
        self._lock, self._thread = threading.RLock(), threading.get_ident()
        self._made: dict[int, tuple[StorageWeakRef, int]] = {}
        self._sum, self._said = 0, 0

    def of_thread(self) -> TorchDispatchMode:
        """A mode for another thread, in which what that makes counts here."""
        return _OfThread(self)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        with self._lock:
            for one in tree_leaves(result):
                if isinstance(one, Tensor) and not one.is_meta:
                    self._take(one.untyped_storage(), (args, kwargs))
            if self._sum > self.peak:
                self.peak = max(self.peak, self.now())
        if self.told and self.peak > 1.01 * self._said and threading.get_ident() == self._thread:
            self._said = self.peak
            self.told(self.peak)
        return result

    def _take(self, storage: torch.UntypedStorage, given: tuple) -> None:
        known = self._made.get(storage._cdata)
        if known is not None and not known[0].expired():  # a view, or one that was written to
            return
        tensors = (one for one in tree_leaves(given) if isinstance(one, Tensor))
        if any(one.untyped_storage()._cdata == storage._cdata for one in tensors):  # the same, of what was made before
            return
        self._sum += storage.nbytes() - (known[1] if known else 0)
        self._made[storage._cdata] = StorageWeakRef(storage), storage.nbytes()

    def now(self) -> int:
        """Bytes alive at this moment."""
        with self._lock:
            self._made = {key: one for key, one in self._made.items() if not one[0].expired()}
            self._sum = sum(nbytes for _, nbytes in self._made.values())
            return self._sum

    def forget_peak(self) -> None:
        """The peak is counted anew from here."""
        self.peak = self._said = self.now()


class _OfThread(TorchDispatchMode):
    """Counts what a thread makes, by the `Alive` of another."""

    def __init__(self, alive: Alive):
        super().__init__()
        self._alive = alive

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return self._alive.__torch_dispatch__(function, types, args, kwargs)


@functools.cache
def _share(kind: str, p: int) -> float:
    return sum(often * share * len(messages) for often, share, messages in rounds(kind, p)) / p


def on_the_wire(kind: str, nbytes: float, p: int) -> float:
    """The bytes that a collective of p ranks makes each of them send, in the mean, where each hands over so many bytes:
    on the ring 2 (p - 1) / p of them for "all_reduce", (p - 1) / p for "reduce_scatter", p - 1 for "all_gather"."""
    return nbytes * (1.0 if kind == "send" else _share(kind, p))


_CALLS = {  # function of torch.distributed -> (collective, which argument is handed over)
    "all_reduce": ("all_reduce", 0),
    "all_gather": ("all_gather", 1),
    "all_gather_single": ("all_gather", 1),
    "all_gather_into_tensor": ("all_gather", 1),
    "reduce_scatter": ("reduce_scatter", 1),
    "reduce_scatter_single": ("reduce_scatter", 1),
    "reduce_scatter_tensor": ("reduce_scatter", 1),
    "all_to_all": ("all_to_all", 1),
    "all_to_all_single": ("all_to_all", 1),
    "broadcast": ("broadcast", 0),
    "reduce": ("reduce", 0),
    "send": ("send", 0),
    "isend": ("send", 0),
}


def axis_of(mesh: Mesh, ranks: Sequence[int]) -> str:
    """The axis along which these ranks differ, for example "tensor"; "world" where they differ in several."""
    places = [mesh.coordinates(rank) for rank in ranks]
    axes = [axis for axis in mesh.order if len({place[axis] for place in places}) > 1]
    if set(axes) == {"data", "context"}:
        return "data"  # of all that hold the same parameters
    return axes[0] if len(axes) == 1 else "world"


class Traffic:
    """While it is on, what this process sends by torch.distributed's functions is added up: bytes, by axis of the
    mesh."""

    def __init__(self, mesh: Mesh):
        self.mesh, self.bytes = mesh, Counter()
        self._kept: dict[str, Callable] = {}
        self._inside = False  # a counted call: those that it makes are part of it

    def __enter__(self) -> Traffic:
        for name, (kind, place) in _CALLS.items():
            if hasattr(dist, name):
                self._kept[name] = getattr(dist, name)
                setattr(dist, name, self._counted(self._kept[name], kind, place))
        distributed_c10d.isend = dist.isend  # what P2POp compares its function with
        return self

    def __exit__(self, *exc) -> None:
        for name, function in self._kept.items():
            setattr(dist, name, function)
        distributed_c10d.isend = dist.isend
        self._kept = {}

    def _counted(self, function: Callable, kind: str, place: int) -> Callable:
        @functools.wraps(function)
        def call(*args, **kwargs):
            if self._inside:
                return function(*args, **kwargs)
            given = [*args, *(value for value in kwargs.values() if isinstance(value, Tensor))]
            self._add(kind, given[place] if len(given) > place else None, args, kwargs)
            self._inside = True
            try:
                return function(*args, **kwargs)
            finally:
                self._inside = False

        return call

    def _add(self, kind: str, handed, args: tuple, kwargs: dict) -> None:
        tensors = [one for one in tree_leaves(handed) if isinstance(one, Tensor)]
        nbytes = sum(one.numel() * one.element_size() for one in tensors)
        if kind == "send":
            peer = kwargs.get("dst", args[1] if len(args) > 1 else None)
            if peer is None and kwargs.get("group_dst") is not None:  # as batch_isend_irecv says it
                peer = dist.get_global_rank(kwargs.get("group") or dist.group.WORLD, kwargs["group_dst"])
            ranks = [dist.get_rank(), peer if peer is not None else dist.get_rank()]
        else:
            groups = [one for one in (*args, *kwargs.values()) if isinstance(one, dist.ProcessGroup)]
            ranks = dist.get_process_group_ranks(groups[0] if groups else dist.group.WORLD)
        self.bytes[axis_of(self.mesh, ranks)] += on_the_wire(kind, nbytes, len(ranks))
