"""A payload that is counted and not carried: of tensors on the device "meta", in the runs of lessons that allow it."""

from __future__ import annotations

from collections.abc import Sequence

MOST = 1 << 60  # bytes


class Phantom:
    """The size of a payload without its bytes. It is measured and cut as bytes are: `len`, slices."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int):
        self.nbytes = nbytes

    def __len__(self) -> int:
        return self.nbytes

    def __getitem__(self, piece: slice) -> Phantom:
        return Phantom(len(range(*piece.indices(self.nbytes))))


Payload = bytes | Phantom


def joined(pieces: Sequence[Payload]) -> Payload:
    """The pieces one after the other; a phantom where one of them is."""
    if any(isinstance(piece, Phantom) for piece in pieces):
        return Phantom(sum(map(len, pieces)))
    return b"".join(pieces)
