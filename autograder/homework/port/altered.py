"""Messages between the ranks of a port, altered on their way by what the key draws.

What a rank hands over in floating point, by whatever call, is multiplied by a number that is new with each message.
A script that uses what arrives shows it in the gradients that it applies and in the weights that it starts with; one
that has computed everything itself does not (`autograder.homework.port.used`). All of it happens at the relay, outside
of the script's processes.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from labkit.relay.operation import Operation

FEW = 64  # bytes: losses and counts stay as they are
MOST = 8_000_000  # numbers, or bytes in no floating point, that are kept of what arrives at one rank
FACTORS = 0.5, 0.8  # below 1: a training whose gradients and weights become smaller does not diverge
_KEPT = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
_GATHERED = ("all_gather", "gather", "all_to_all")
_SUMMED = ("all_reduce", "reduce", "reduce_scatter", *_GATHERED)
_LEFT = {"": None, "all": (), "sums": ("broadcast", "scatter", "all_gather", "gather")}  # kinds that are left alone
ALIKE = 1e-3  # relative difference up to which two ranks send the same


def secret_of(key: str) -> bytes:
    """The bytes that the altering is drawn from. No rank is handed them, or a number from which they follow."""
    return hashlib.sha256(f"scaling_mnist altered\0{key}".encode()).digest()


class Altered:
    """Alters what the ranks of one run send. what: "all", "sums" (but not what is broadcast or gathered), "" (nothing:
    it is looked at).

    bytes, untouched: what was altered so far, and what was not, few bytes apart. alike: bytes of sums to which all
    ranks brought the same numbers.
    """

    def __init__(self, secret: bytes, what: str):
        self._secret, self._left = secret, _LEFT[what]
        self.bytes = self.untouched = self.alike = 0
        self._arrived: dict[int, list[np.ndarray]] = defaultdict(list)
        self._packed: dict[int, list[bytes]] = defaultdict(list)
        self._kept: Counter = Counter()
        self._count: Counter = Counter()

    def handed(self, op: Operation) -> bytes:
        """The bytes that travel in place of those that a rank hands over."""
        if len(op.payload) <= FEW or self._left is None:
            return op.payload
        values = None if op.kind in self._left else _values(op.payload, op.dtype)
        if values is None:
            self.untouched += len(op.payload)
            if op.kind == "send" and op.peer is not None:
                self._keep(op.peer, op.payload, op.dtype)
            return op.payload
        self.bytes += len(op.payload)
        self._count[op.rank] += 1
        altered = _bytes(values * self._factor(op.rank, self._count[op.rank]), op.dtype)
        if op.kind == "send" and op.peer is not None:
            self._keep(op.peer, altered, op.dtype)
        return altered

    def arrives(self, ops: Sequence[Operation]) -> None:
        """Keeps what the members of a collective get, and of gathered pieces their sum besides."""
        if self._left is None and ops[0].kind in _SUMMED:
            self.alike += sum(len(op.payload) for op in ops) if _alike(ops) else 0
        if self._left is None or ops[0].kind in self._left:
            return
        for op in ops:
            self._keep(op.rank, op.data, op.dtype)
            pieces = len(ops) if op.kind in _GATHERED else 0
            if pieces and op.dtype in _KEPT and len(op.data) > FEW and len(op.data) % (pieces * _size(op.dtype)) == 0:
                whole = np.frombuffer(op.data, _KEPT[op.dtype]).reshape(pieces, -1).sum(axis=0)
                self._keep(op.rank, whole.tobytes(), op.dtype)

    def arrived(self, rank: int) -> np.ndarray:
        """All numbers that have come to a rank, sorted."""
        return np.sort(np.concatenate([np.zeros(0, np.float32), *self._arrived[rank]]))

    def packed(self, rank: int) -> bytes:
        """The bytes that have come to a rank in no floating point, such as pickled weights."""
        return b"".join(self._packed[rank])

    def _factor(self, rank: int, count: int) -> float:
        digest = hashlib.sha256(self._secret + f"{rank} {count}".encode()).digest()
        seed = [int.from_bytes(digest[at : at + 4], "big") for at in range(0, 16, 4)]
        return float(np.random.default_rng(seed).uniform(*FACTORS))

    def _keep(self, rank: int, data: bytes, dtype: str) -> None:
        values = _values(data, dtype) if len(data) > FEW else ()
        count = len(data) if values is None else len(values)
        if self._kept[rank] + count > MOST:
            return
        self._kept[rank] += count
        if values is None:
            self._packed[rank].append(bytes(data))
        elif count:
            self._arrived[rank].append(values.astype(np.float32))


def _alike(ops: Sequence[Operation]) -> bool:
    """True if all members of a collective bring the same numbers, but for rounding."""
    if len(ops) < 2 or len(ops[0].payload) <= FEW or len({(op.dtype, len(op.payload)) for op in ops}) > 1:
        return False
    brought = [_values(op.payload, op.dtype) for op in ops]
    if brought[0] is None:
        return False
    size = float(np.linalg.norm(brought[0]))
    return all(float(np.linalg.norm(one - brought[0])) <= ALIKE * size for one in brought)


def _size(dtype: str) -> int:
    return np.dtype(_KEPT[dtype]).itemsize


def _values(payload: bytes, dtype: str) -> np.ndarray | None:
    """A payload's numbers; None where it has none in floating point."""
    if dtype == "bfloat16":  # the upper half of a number in single precision
        return (np.frombuffer(payload, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(payload, _KEPT[dtype]) if dtype in _KEPT else None


def _bytes(values: np.ndarray, dtype: str) -> bytes:
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return values.astype(_KEPT[dtype]).tobytes()


__all__ = ["Altered", "secret_of"]
