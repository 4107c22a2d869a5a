"""One operation that a rank has posted: what it asked for, and how far it has come."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from labkit.relay import wire
from labkit.relay.phantom import MOST, Payload, Phantom

MAX_DIMENSIONS = 64


@dataclass(eq=False)
class Group:
    """The ranks that communicate under one name. position: of each member within the group."""

    name: str
    members: tuple[int, ...]
    position: Mapping[int, int] = field(init=False)

    def __post_init__(self):
        self.position = {rank: k for k, rank in enumerate(self.members)}


class Groups:
    """The groups of one case. A rank says who the members are when it uses a group for the first time; ranks that say
    the same share one `Group`."""

    def __init__(self, n: int):
        self.n = n
        self._all: dict[tuple[str, tuple[int, ...]], Group] = {}
        # what was named last: all ranks of one process name one and the same list
        self._latest: tuple[object, Group | None] = (None, None)
        self._known: list[dict[str, Group]] = [{} for _ in range(n)]
        self._named: dict[str, Group] = {}
        self.two_of_one_call: tuple[Group, Group] | None = None  # groups that should have been made by two calls

    def of(self, rank: int, meta: dict) -> Group:
        """The group that a POST of `rank` names. Raises WireError, KeyError, TypeError or ValueError for what is
        none."""
        name = str(meta["group"])[:100]
        if "members" not in meta:
            return self._known[rank][name]
        if meta["members"] is self._latest[0] and self._latest[1].name == name and rank in self._latest[1].position:
            self._known[rank][name] = self._latest[1]
            return self._latest[1]
        members = tuple(map(int, meta["members"]))
        group = self._all.get((name, members)) or Group(name, members)
        if not members or min(members) < 0 or max(members) >= self.n or len(group.position) < len(members):
            raise wire.WireError("a group of ranks that do not exist")
        if rank not in group.position:
            raise wire.WireError("an operation outside its group")
        self._all[name, members] = self._known[rank][name] = group
        # torch names a group by the number of the call, or by a hash of its members where these alone call
        if name.isdigit() and self._named.setdefault(name, group) is not group:
            self.two_of_one_call = self.two_of_one_call or (self._named[name], group)
        self._latest = meta["members"], group
        return group

    def made_by_two_calls(self, group: Group) -> bool:
        """True if some members of a group have used it, and others only another group of the same members."""
        users = {r for r in group.members if self._known[r].get(group.name) is group}
        others = [one for one in self._all.values() if one.members == group.members and one is not group]
        return any(not users & {r for r in one.members if self._known[r].get(one.name) is one} for one in others)


@dataclass(eq=False)
class Operation:
    """One posted operation of one rank.

    clock, clock_after: vector clocks, how many lines of each rank had been said when it was posted, as far as its rank
    can know; and the same for whoever has seen it completed. asked: whether by a poll. refused: why it cannot be done,
    told to the rank instead of a result. gone: the ranks that have died, for which it will never be done.
    """

    rank: int
    ticket: int
    kind: str
    group: Group
    peer: int | None
    tag: int
    dtype: str
    shape: tuple[int, ...]
    root: int | None
    reduce: str
    sizes: list[int]
    line: str
    payload: Payload
    posted: float = 0.0
    started: float | None = None
    ended: float | None = None
    match: int | None = None
    meta: dict = field(default_factory=dict)  # the reply
    data: Payload = b""
    awaited: bool = False
    asked: bool = False
    refused: str = ""
    gone: tuple[int, ...] = ()
    clock: tuple[int, ...] = ()
    clock_after: tuple[int, ...] = ()

    def __post_init__(self):
        self.elements = math.prod(self.shape)

    @property
    def members(self) -> tuple[int, ...]:
        """The ranks of its group."""
        return self.group.members

    @property
    def done(self) -> bool:
        """True if it is complete."""
        return self.ended is not None

    @property
    def phantom(self) -> bool:
        """True if its tensors are on "meta": its bytes are counted and not carried."""
        return isinstance(self.payload, Phantom)

    @property
    def nbytes(self) -> int:
        """Bytes handed over; for a recv the bytes asked for."""
        return len(self.payload) if self.kind != "recv" else self.elements * wire.DTYPES.get(self.dtype, 1)


def read(rank: int, meta: dict, payload: Payload, groups: Groups, phantoms: bool = False) -> Operation:
    """The operation that a POST of a rank describes. phantoms: its payload may be one. Raises WireError, KeyError,
    TypeError or ValueError for what is none."""
    if "phantom" in meta:
        if not phantoms or len(payload) or not 0 <= int(meta["phantom"]) <= MOST:
            raise wire.WireError("a payload that is not there")
        payload = Phantom(int(meta["phantom"]))
    group, n = groups.of(rank, meta), groups.n
    peer, root = meta.get("peer"), meta.get("root")
    shape = tuple(map(int, meta.get("shape", ())))
    sizes = list(map(int, meta.get("sizes", ())))
    if len(shape) > MAX_DIMENSIONS or len(sizes) > n or (shape and not 0 <= min(shape) <= max(shape) < 1 << 48):
        raise wire.WireError("an operation of impossible size")
    if root is not None and (type(root) is not int or root not in group.position):
        raise wire.WireError("a root outside its group")
    if peer is not None and not 0 <= int(peer) < n:
        raise wire.WireError("a peer that does not exist")
    op = Operation(
        rank=rank,
        ticket=int(meta["ticket"]),
        kind=str(meta["op"])[:40],
        group=group,
        peer=None if peer is None else int(peer),
        tag=_tag(meta.get("tag", 0)),
        dtype=str(meta.get("dtype", ""))[:20],
        shape=shape,
        root=root,
        reduce=str(meta.get("reduce", ""))[:10],
        sizes=sizes,
        line=str(meta.get("line", ""))[:200],
        payload=payload,
    )
    if op.kind == "send" and len(payload) != op.elements * wire.DTYPES.get(op.dtype, 0):
        raise wire.WireError("a message whose bytes and shape differ")
    return op


def _tag(tag) -> int:
    if not -1 << 31 <= int(tag) < 1 << 31:
        raise wire.WireError("a tag that is no tag")
    return int(tag)
