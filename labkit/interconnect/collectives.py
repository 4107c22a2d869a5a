"""The one table of the collectives, `COLLECTIVES`: of each the steps of a library's algorithm, whether it has a root,
and what its members have to agree on.

    rounds("all_reduce", 4)     # [(6, 0.25, [(0, 1), (1, 2), (2, 3), (3, 0)])]: six steps of a quarter each on the ring

A new collective is an entry here, its exchange of payloads in `labkit/relay/matcher.py`, and its function in the
backends of torch.distributed (`labkit/relay/backend.py`, `labkit/mpi/backend.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Message = tuple[int, int]  # source and destination, as positions within the group
Round = tuple[int, float, Sequence[Message]]  # how often, share of the contribution in each message, messages at a time
Sizes = Sequence[Sequence[int]]  # bytes of the pieces of each position's contribution


@dataclass(frozen=True)
class Collective:
    """One kind of collective of p ranks, its root at position 0 where it has one.

    rounds: (p, whether all links are alike) -> the steps (`rounds`). rooted: it has a root. sized: every member brings
    as much, of the same type. ring: a library runs it on rings. dealt: the steps where each rank gets a piece of its
    own and the pieces are of different sizes (`uneven_rounds`); None: they never are.
    """

    rounds: Callable[[int, bool], Iterable[Round]]
    rooted: bool = False
    sized: bool = False
    ring: bool = False
    dealt: Callable[[Sizes], Iterable[Sequence[tuple[int, int, int]]]] | None = None


def rounds(kind: str, p: int, alike: bool = False) -> Iterable[Round]:
    """The steps of a library's algorithm on p ranks, the root being position 0: (how often, share of the contribution
    that each message carries, messages at the same time).

    The usual ones (Thakur, Rabenseifner, Gropp 2005): ring all-reduce, 2 (p-1) steps of n/p; binomial trees for
    broadcast and reduce, ceil(log2 p) steps of n; all-gather and reduce-scatter on the ring, all-to-all by shifts,
    gather and scatter one after the other at the root: p-1 steps each; barrier by dissemination. alike: all links are,
    so that one shift stands for all of them. Raises KeyError for another kind.
    """
    return COLLECTIVES[kind].rounds(p, alike) if p > 1 else []


def uneven_rounds(kind: str, pieces: Sizes) -> Iterable[Sequence[tuple[int, int, int]]]:
    """The steps of `rounds` where pieces are of different sizes: source, destination and bytes of each message.

    pieces: of the contribution of each position, in bytes, one for each position ("all_to_all", "reduce_scatter"); of
    the root's alone ("scatter").
    """
    return COLLECTIVES[kind].dealt(pieces)


def _ring(p: int) -> list[Message]:
    return _shift(p, 1)


def _shift(p: int, by: int) -> list[Message]:
    return [(k, (k + by) % p) for k in range(p)]


def _distances(p: int) -> list[int]:
    """1, 2, 4, ...: as many as a binomial tree of p ranks has levels."""
    return [1 << k for k in range(math.ceil(math.log2(p)))]


def _shifts(p: int, alike: bool) -> list[Round]:
    return [(p - 1, 1 / p, _ring(p))] if alike else [(1, 1 / p, _shift(p, s)) for s in range(1, p)]


def _down(p: int, alike: bool) -> list[Round]:
    return [(1, 1.0, [(k, k + d) for k in range(min(d, p - d))]) for d in _distances(p)]


def _up(p: int, alike: bool) -> list[Round]:
    return [(1, 1.0, [(k + d, k) for k in range(min(d, p - d))]) for d in reversed(_distances(p))]


def _dealt_by_shifts(pieces: Sizes) -> list[list[tuple[int, int, int]]]:
    p = len(pieces[0])
    return [[(a, b, pieces[a][b]) for a, b in _shift(p, s)] for s in range(1, p)]


def _dealt_on_the_ring(pieces: Sizes) -> list[list[tuple[int, int, int]]]:
    p = len(pieces[0])
    return [[(a, b, pieces[a][(a - s) % p]) for a, b in _ring(p)] for s in range(1, p)]


def _dealt_by_the_root(pieces: Sizes) -> list[list[tuple[int, int, int]]]:
    return [[(0, k, pieces[0][k])] for k in range(1, len(pieces[0]))]


COLLECTIVES = {
    "all_reduce": Collective(lambda p, alike: [(2 * (p - 1), 1 / p, _ring(p))], sized=True, ring=True),
    "all_gather": Collective(lambda p, alike: [(p - 1, 1.0, _ring(p))], ring=True),
    "reduce_scatter": Collective(
        lambda p, alike: [(p - 1, 1 / p, _ring(p))], sized=True, ring=True, dealt=_dealt_on_the_ring
    ),
    "all_to_all": Collective(_shifts, dealt=_dealt_by_shifts),
    "broadcast": Collective(_down, rooted=True, sized=True),
    "reduce": Collective(_up, rooted=True, sized=True),
    "gather": Collective(lambda p, alike: [(1, 1.0, [(k, 0)]) for k in range(1, p)], rooted=True, sized=True),
    "scatter": Collective(
        lambda p, alike: [(1, 1 / p, [(0, k)]) for k in range(1, p)], rooted=True, sized=True, dealt=_dealt_by_the_root
    ),
    "barrier": Collective(lambda p, alike: [(1, 0.0, _shift(p, d)) for d in _distances(p)]),
}
