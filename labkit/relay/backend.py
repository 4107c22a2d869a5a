"""`init_process_group("relay")`: the torch.distributed backend whose only wire is a socket to the relay outside.

Every operation is posted to the relay at once and awaited when somebody waits for it, so that `isend`, `irecv` and
`async_op=True` mean what they say. A send is complete when it has been received (it is synchronous): programs that work
only because small messages are buffered are found out.

What happens to a tensor's memory while an operation is open is watched (`labkit.relay.buffers`): memory that two open
operations claim is refused when the second is posted, and memory that was changed meanwhile when the first is waited
for.
"""

from __future__ import annotations

import functools
import socket
import weakref

import torch
import torch._C._distributed_c10d as c10d
import torch.distributed as dist

from labkit.relay import charging, wire
from labkit.relay.buffers import (
    Claim,
    ReusedBuffer,
    UsedBeforeWait,
    checksum,
    elsewhere,
    fill,
    overlap,
    spoil,
    tensor_bytes,
)
from labkit.relay.connection import Connection, RankGone, asked_by_the_program
from labkit.relay.phantom import Payload, joined

_REDUCTIONS = {
    dist.ReduceOp.RedOpType.SUM: "sum",
    dist.ReduceOp.RedOpType.AVG: "avg",
    dist.ReduceOp.RedOpType.PRODUCT: "product",
    dist.ReduceOp.RedOpType.MIN: "min",
    dist.ReduceOp.RedOpType.MAX: "max",
    dist.ReduceOp.RedOpType.BAND: "band",
    dist.ReduceOp.RedOpType.BOR: "bor",
    dist.ReduceOp.RedOpType.BXOR: "bxor",
}


class RelayWork(dist.Work):
    """One posted operation. `finish(meta, payload)` writes what arrived into the tensors.

    reads: the tensors whose content has been handed over; writes: those that `finish` fills. Both belong to the
    operation until it is done.
    """

    def __init__(self, connection: Connection, ticket: int, kind: str, result: list, finish, reads: list, writes: list):
        super().__init__()
        self._connection, self._ticket, self._result, self._finish = connection, ticket, result, finish
        for tensor in writes:
            spoil(tensor, connection.random)
        self.writes = writes
        self.reads = [tensor for tensor in reads if not any(overlap(tensor, other) for other in writes)]
        self._as_they_were = self._checksums()
        self._done, self._lost = False, None  # the ranks that have died for which it will never be done
        self._source = -1
        self._name = {"send": "isend", "recv": "irecv"}.get(kind, kind)
        connection.open[ticket] = Claim(self._name, self.reads, self.writes, weakref.ref(self))

    def _checksums(self) -> tuple[list[int], list[int]]:
        return tuple([checksum(tensor) for tensor in tensors] for tensors in (self.reads, self.writes))

    def wait(self, timeout=None) -> bool:
        if not self._done:
            self._look_at_the_buffers()
            self._complete(*self._hear(self._connection.wait, self._ticket, asked_by_the_program()))
        if self._lost is not None:
            raise RankGone(self._lost)
        return True

    def _hear(self, ask, *arguments) -> tuple[dict, bytearray]:
        """The relay's answer. Raises RankGone, now and whenever this is waited for again."""
        try:
            return ask(*arguments)
        except RankGone as gone:
            self._done, self._lost = True, gone.ranks
            self._connection.open.pop(self._ticket, None)
            raise

    def _look_at_the_buffers(self) -> None:
        (sent, received), (sent_now, received_now) = self._as_they_were, self._checksums()
        if sent != sent_now:
            raise ReusedBuffer(
                f"the tensor given to {self._name} was changed before its wait(): the receiver may get the old or the "
                "new values"
            )
        if received != received_now:
            raise UsedBeforeWait(
                f"a tensor was written to while the {self._name} into it was open: what arrives replaces that"
            )

    def _complete(self, meta: dict, payload: bytearray) -> None:
        self._done = True
        self._connection.open.pop(self._ticket, None)
        self._source = meta.get("source", -1)
        if self._finish is not None:
            self._finish(meta, payload)

    def is_completed(self) -> bool:
        if not self._done:
            self._look_at_the_buffers()
            meta, payload = self._hear(self._connection.ask, wire.POLL, self._ticket, True)
            if meta.get("done"):
                self._complete(meta, payload)
        return self._done

    def is_success(self) -> bool:
        return self._done and self._lost is None

    def synchronize(self) -> None:
        self.wait()

    def result(self):
        return self._result

    def source_rank(self) -> int:
        return self._source

    _source_rank = source_rank

    def get_future(self):
        self.wait()
        future = torch.futures.Future()
        future.set_result(self._result)
        return future


class RelayProcessGroup(dist.ProcessGroup):
    """The process group of one rank. Only what the relay needs to know leaves the rank: kind, sizes, peer, tag, line
    and the bytes."""

    def __init__(self, connection: Connection, rank: int, size: int, group_id: str, members: list[int]):
        super().__init__(rank, size)
        self._connection, self._rank, self._size = connection, rank, size
        self._id, self._members, self._name = group_id, members, group_id

    # -- what torch asks about the group
    def _set_group_name(self, name):
        self._name = name
        super()._set_group_name(name)

    def getGroupName(self):
        return self._name

    group_name = property(lambda self: self._name)

    def getBackendName(self):
        return "relay"

    def name(self):
        return "relay"

    def size(self):
        return self._size

    def rank(self):
        return self._rank

    def getRank(self):
        return self._rank

    def getSize(self):
        return self._size

    def shutdown(self):
        pass

    def abort(self):
        pass

    # -- plumbing
    def _post(self, kind, result, finish, payload=b"", tensor=None, reads=(), writes=(), **meta) -> RelayWork:
        reads, writes = list(reads), list(writes)
        if any(one.is_meta for one in (*reads, *writes)):
            meta["phantom"], payload = self._counted(kind, payload, [*reads, *writes]), b""
        if tensor is not None:
            meta.update(dtype=str(tensor.dtype).removeprefix("torch."), shape=list(tensor.shape))
        meta.update(op=kind, group=self._id, members=self._members)
        self._connection.claim(reads, writes)
        return RelayWork(self._connection, self._connection.post(meta, payload), kind, result, finish, reads, writes)

    def _counted(self, kind: str, payload: Payload, tensors: list) -> int:
        """The bytes of a payload that is not carried, since its tensors are on "meta". Raises RuntimeError where this
        case carries all payloads, or where only some of the tensors are."""
        if not self._connection.phantoms:
            raise elsewhere(next(one for one in tensors if one.is_meta))
        if not all(one.is_meta for one in tensors):
            raise RuntimeError(
                f'{kind} was given tensors on the device "meta", which are counted and not carried, and others with '
                'elements: give it all of them on "meta", or none'
            )
        return len(payload)

    def _each(self, works: list[RelayWork], result) -> dist.Work:
        return works[0] if len(works) == 1 else _AllWork(works, result)

    def _member(self, rank: int) -> int:
        """The global rank of a member. Raises ValueError for a rank that does not exist (a list would take -1 for the
        last one)."""
        if not 0 <= rank < self._size:
            raise ValueError(f"there is no rank {rank}: the ranks of this group are 0 to {self._size - 1}")
        return self._members[rank]

    def _one_each(self, call: str, tensors: list) -> None:
        """Raises ValueError where a list has not one tensor for every rank."""
        if len(tensors) != self._size:
            raise ValueError(
                f"{call} was given a list of {len(tensors)} tensors, but the group has {self._size} ranks: one for each"
            )

    def _equal_parts(self, call: str, whole: torch.Tensor, part: torch.Tensor | None = None) -> None:
        """Raises ValueError where a tensor cannot be cut into one equal part for every rank."""
        if whole.numel() % self._size:
            raise ValueError(
                f"{call} was given {whole.numel()} elements for {self._size} equal parts, and {whole.numel()} does "
                "not divide by "
                f"{self._size}: pad to a multiple, or use chunks of different sizes"
            )
        if part is not None and whole.numel() != part.numel() * self._size:
            raise ValueError(
                f"{call} was given {whole.numel()} elements in all and {part.numel()} for one rank: of {self._size} "
                "ranks, all have "
                f"{self._size} times as many as one"
            )

    # -- point to point
    def send(self, tensors, dst, tag):
        _in_one_piece(tensors[0])
        data = tensor_bytes(tensors[0])
        return self._post("send", tensors, None, data, tensors[0], reads=tensors, peer=self._member(dst), tag=tag)

    def recv(self, tensors, src, tag):
        return self._receive(tensors, self._member(src), tag)

    def recv_anysource(self, tensors, tag):
        return self._receive(tensors, None, tag)

    def _receive(self, tensors, peer, tag):
        _in_one_piece(tensors[0])

        def finish(meta, payload):
            fill(tensors[0], payload)

        work = self._post("recv", tensors, finish, b"", tensors[0], writes=tensors, peer=peer, tag=tag)
        return work

    # -- collectives
    def _reduction(self, opts) -> str:
        op = getattr(opts.reduceOp, "op", opts.reduceOp)
        if op not in _REDUCTIONS:
            raise RuntimeError(f"the relay does not know the reduction {op}")
        return _REDUCTIONS[op]

    def allreduce(self, tensors, opts=None):
        opts = opts or c10d.AllreduceOptions()
        works = [
            self._post(
                "all_reduce",
                tensors,
                lambda m, p, t=t: fill(t, p),
                tensor_bytes(t),
                t,
                writes=[t],
                reduce=self._reduction(opts),
            )
            for t in tensors
        ]
        return self._each(works, tensors)

    allreduce_coalesced = allreduce

    def broadcast(self, tensors, opts=None):
        opts = opts or c10d.BroadcastOptions()
        root = self._members[opts.rootRank]
        mine = opts.rootRank == self._rank
        works = [
            self._post(
                "broadcast",
                tensors,
                None if mine else lambda m, p, t=t: fill(t, p),
                tensor_bytes(t) if mine else b"",
                t,
                **{"reads" if mine else "writes": [t]},
                root=root,
            )
            for t in tensors
        ]
        return self._each(works, tensors)

    def reduce(self, tensors, opts=None):
        opts = opts or c10d.ReduceOptions()
        t, mine = tensors[0], opts.rootRank == self._rank
        return self._post(
            "reduce",
            tensors,
            (lambda m, p: fill(t, p)) if mine else None,
            tensor_bytes(t),
            t,
            **{"writes" if mine else "reads": [t]},
            root=self._members[opts.rootRank],
            reduce=self._reduction(opts),
        )

    def allgather(self, out_lists, ins, opts=None):
        works = []
        for outs, t in zip(out_lists, ins, strict=True):
            self._one_each("all_gather", outs)
            sizes = [o.numel() * o.element_size() for o in outs]
            works.append(
                self._post(
                    "all_gather", out_lists, _splitter(outs), tensor_bytes(t), t, reads=[t], writes=outs, sizes=sizes
                )
            )
        return self._each(works, out_lists)

    def all_gather_single(self, out, inp, opts=None):
        self._equal_parts("all_gather_into_tensor", out, inp)
        size = inp.numel() * inp.element_size()
        return self._post(
            "all_gather",
            [out],
            lambda m, p: fill(out, p),
            tensor_bytes(inp),
            inp,
            reads=[inp],
            writes=[out],
            sizes=[size] * self._size,
        )

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outs, ins, opts=None):
        return self._each([self.all_gather_single(o, i, opts) for o, i in zip(outs, ins, strict=True)], outs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(self, out_lists, ins, opts=None):
        opts = opts or c10d.GatherOptions()
        mine = opts.rootRank == self._rank
        outs = out_lists[0] if mine else []
        if mine:
            self._one_each("gather", outs)
        finish = _splitter(outs) if mine else None
        root = self._members[opts.rootRank]
        return self._post("gather", out_lists, finish, tensor_bytes(ins[0]), ins[0], reads=ins, writes=outs, root=root)

    def scatter(self, outs, in_lists, opts=None):
        opts = opts or c10d.ScatterOptions()
        mine = opts.rootRank == self._rank
        if mine:
            self._one_each("scatter", in_lists[0])
        parts = [tensor_bytes(t) for t in in_lists[0]] if mine else []
        return self._post(
            "scatter",
            outs,
            lambda m, p: fill(outs[0], p),
            joined(parts),
            outs[0],
            reads=in_lists[0] if mine else [],
            writes=outs,
            root=self._members[opts.rootRank],
            sizes=[len(p) for p in parts],
        )

    def reduce_scatter(self, outs, in_lists, opts=None):
        opts = opts or c10d.ReduceScatterOptions()
        works = []
        for out, parts in zip(outs, in_lists, strict=True):
            self._one_each("reduce_scatter", parts)
            data = [tensor_bytes(t) for t in parts]
            works.append(
                self._post(
                    "reduce_scatter",
                    outs,
                    lambda m, p, o=out: fill(o, p),
                    joined(data),
                    out,
                    reads=parts,
                    writes=[out],
                    reduce=self._reduction(opts),
                    sizes=[len(d) for d in data],
                )
            )
        return self._each(works, outs)

    def reduce_scatter_single(self, out, inp, opts=None):
        self._equal_parts("reduce_scatter_tensor", inp, out)
        opts = opts or c10d.ReduceScatterOptions()
        data = tensor_bytes(inp)
        sizes = [len(data) // self._size] * self._size
        return self._post(
            "reduce_scatter",
            [out],
            lambda m, p: fill(out, p),
            data,
            out,
            reads=[inp],
            writes=[out],
            reduce=self._reduction(opts),
            sizes=sizes,
        )

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outs, ins, opts=None):
        return self._each([self.reduce_scatter_single(o, i, opts) for o, i in zip(outs, ins, strict=True)], outs)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def alltoall(self, outs, ins, opts=None):
        self._one_each("all_to_all", ins)
        self._one_each("all_to_all", outs)
        data = [tensor_bytes(t) for t in ins]
        sizes = [len(d) for d in data]
        return self._post(
            "all_to_all", outs, _splitter(outs), joined(data), ins[0], reads=ins, writes=outs, sizes=sizes
        )

    def all_to_all_single(self, out, inp, out_splits, in_splits, opts=None):
        for tensor, splits, which in ((inp, in_splits, "input"), (out, out_splits, "output")):
            if not splits:
                self._equal_parts("all_to_all_single", tensor)
            elif len(splits) != self._size or sum(splits) != (tensor.size(0) if tensor.dim() else 1):
                raise ValueError(
                    f"all_to_all_single was given {which} splits {list(splits)} for {self._size} ranks and "
                    f"{tuple(tensor.shape)}: "
                    "one for each rank, and together as long as the tensor"
                )
        data = tensor_bytes(inp)
        row = len(data) // inp.size(0) if inp.dim() and inp.size(0) else 0
        sizes = [s * row for s in in_splits] if in_splits else [len(data) // self._size] * self._size
        finish = lambda m, p: fill(out, p)  # noqa: E731
        return self._post("all_to_all", [out], finish, data, inp, reads=[inp], writes=[out], sizes=sizes)

    alltoall_base = all_to_all_single

    def barrier(self, opts=None):
        return self._post("barrier", [], None)

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        self.barrier().wait()


def _in_one_piece(tensor: torch.Tensor) -> None:
    """Raises RuntimeError, in gloo's words, for a message that gloo would not take."""
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")


class _AllWork(dist.Work):
    """Several operations that torch sees as one."""

    def __init__(self, works, result):
        super().__init__()
        self._works, self._result = works, result

    def wait(self, timeout=None):
        for work in self._works:
            work.wait()
        return True

    def is_completed(self):
        return all(work.is_completed() for work in self._works)

    def is_success(self):
        return all(work.is_success() for work in self._works)

    def result(self):
        return self._result

    def get_future(self):
        self.wait()
        future = torch.futures.Future()
        future.set_result(self._result)
        return future


def _splitter(outs):
    """Returns a function that splits an arriving payload, one piece per rank, into the given tensors."""

    def finish(meta, payload):
        view = memoryview(payload)
        for tensor, size in zip(outs, meta["sizes"], strict=True):
            fill(tensor, view[:size])
            view = view[size:]

    return finish


def rehearse() -> None:
    """Make and destroy a process group of one rank, which says nothing to anybody.

    In the process that ranks are forked from: what torch imports, compiles and clears on the way is done once then, and
    not by every rank (a third of what a short case cost).
    """
    mine, theirs = socket.socketpair()
    with mine, theirs:
        register(Connection(mine))
        dist.init_process_group("relay", store=dist.HashStore(), rank=0, world_size=1)
        dist.destroy_process_group()


def register(connection: Connection) -> None:
    """Make "relay" a backend of torch.distributed in this process, speaking through `connection`."""
    charging.speak_through(connection)
    register_backend()


def register_backend() -> None:
    """Make "relay" a backend of torch.distributed in this process, for whoever speaks (`labkit.relay.charging`)."""
    if "relay" not in dist.Backend.backend_list:
        dist.Backend.register_backend("relay", _create, extended_api=True, devices=["cpu"])


@functools.lru_cache
def _everybody(size: int) -> list[int]:
    """One list for all ranks of this process."""
    return list(range(size))


def _create(options, _backend_options=None) -> RelayProcessGroup:
    members = list(options.global_ranks_in_group) or _everybody(options.group_size)
    group = str(options.group_id)
    return RelayProcessGroup(charging.speaker(), options.group_rank, options.group_size, group, members)
