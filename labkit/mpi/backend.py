"""torch.distributed over MPI: what `init_process_group("mpi")` gives with PyTorch from PyPI.

A process group is a class with one method for each collective: PyTorch's `dist.all_reduce(tensor)` looks up the group
and calls its `allreduce([tensor], opts)`. Here each of them is a call of mpi4py on the tensor's own memory, without a
copy.

How operations run:

- Before a collective the ranks compare what they are about to do, in one all-reduce of 16 bytes: where one calls
  another collective, or has a tensor of another length, every rank gets an error that says so, and no wrong value.
- A collective called with `async_op=False` runs at once, in the calling thread.
- Otherwise (`async_op=True`, and every collective that DistributedDataParallel starts during backward) a thread of the
  group runs it while the program computes on. All of a group's collectives keep their order, and so do the callbacks of
  their futures, which may themselves start collectives and wait for them (labkit.mpi.streams).
- A send or receive is an MPI request; whoever waits for it waits in MPI.

Sums of bfloat16, float16 and float8 are made in float32. Anything that takes longer than the group's timeout ends the
job and says which rank stood where (labkit.mpi.operations); so does an uncaught exception of one rank.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from array import array
from collections.abc import Callable
from datetime import timedelta

from labkit import environment

environment.set_up_singleton()

import torch  # noqa: E402 (MPI starts when mpi4py is imported, and must find its environment)
import torch.distributed as dist  # noqa: E402
from mpi4py import MPI  # noqa: E402
from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy  # noqa: E402
from torch.distributed import distributed_c10d as c10d  # noqa: E402

from labkit.mpi import buffers  # noqa: E402
from labkit.mpi.operations import (  # noqa: E402
    Finished,
    Members,
    Message,
    MpiCall,
    at_once,
    profiled,
)
from labkit.mpi.streams import OrderedFuture, Queued, Streams, place  # noqa: E402
from labkit.watch.hang import list_ranks  # noqa: E402

_never_complete: list[Message] = []  # of groups that are gone: MPI may still write into their memory


class ProcessGroup(dist.ProcessGroup):
    """Ranks that communicate over one MPI communicator of their own.

    The names of the methods are PyTorch's (2.13); what their tensors mean is said in the documentation of
    `torch.distributed`. Tensors may have any dtype, any strides and no elements at all. All-reduce takes sparse ones,
    too. Raises ValueError for tensors that are not in main memory and for sizes on this rank that do not fit together,
    RuntimeError where the ranks do not agree on a collective and for a message whose size is not the tensor's.
    """

    def __init__(self, communicator: MPI.Intracomm, members: Members):
        super().__init__(members.rank, len(members.ranks))
        self._communicator, self._members = communicator, members
        self._rank, self._size = members.rank, len(members.ranks)
        self._description = "undefined"
        self._streams = Streams()
        self._messages: list[Message] = []  # not complete yet: they must outlive a program that forgets them

    # -- who we are

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return self._size

    getRank, getSize = rank, size

    def getBackendName(self) -> str:
        return "mpi"

    name = getBackendName

    def set_timeout(self, timeout: timedelta) -> None:
        self._members.timeout = timeout.total_seconds()

    @property
    def _device_types(self) -> list[torch.device]:
        """The devices whose tensors the group moves; some of PyTorch asks before it begins
        (`checkpoint.async_save`)."""
        return [torch.device("cpu")]

    # PyTorch keeps these two in its C++ backends, of which a group in Python has none.

    def _set_group_name(self, name: str) -> None:
        self._members.name = name
        super()._set_group_name(name)

    def getGroupName(self) -> str:
        return self._members.name

    group_name = property(getGroupName)

    def _set_group_desc(self, description: str) -> None:
        self._description = description
        super()._set_group_desc(description)

    def getGroupDesc(self) -> str:
        return self._description

    group_desc = property(getGroupDesc)

    def __repr__(self) -> str:
        return f"ProcessGroup(mpi, rank {self._rank} of {self._size}, {self._members})"

    def shutdown(self) -> None:
        """Finish what was started. The communicator is not freed: that would have to wait for the other ranks."""
        self._streams.close()
        _never_complete.extend(message for message in self._messages if not message.progress())

    def abort(self) -> None:
        """End the job: nothing less gets ranks out of an MPI call that their partners never made."""
        MPI.COMM_WORLD.Abort(1)

    # -- how an operation runs

    def _collective(
        self,
        kind: str,
        detail: str,
        run: Callable[[], None],
        tensor: torch.Tensor | None,
        result,
        opts,
        root=None,
        sizes=None,
    ) -> dist.Work:
        """Run a collective now or in the stream, once all ranks have told each other that they mean the same one.

        detail: what must be the same on all ranks, in words; sizes: a function that compares what only some of them can
        compare and returns what is wrong. tensor: what this rank hands over; result: what its future holds.
        """

        def checked():
            self._agree(operation, detail)
            if sizes is not None:
                self._agree(operation, detail, sizes())
            run()

        stream, detail = self._streams.here(), detail + place()
        if opts.asyncOp or not stream.begin_at_once():
            operation = MpiCall(self._members, kind, tensor, peer=root, blocking=False)
            return stream.submit(Queued(operation, checked, result, stream))
        try:
            operation = MpiCall(self._members, kind, tensor, peer=root)
            with profiled(kind), at_once(operation):
                checked()
        finally:
            stream.end_at_once()
        return Finished(result)

    def _agree(self, operation: MpiCall, detail: str, complaint: str = "") -> None:
        """Raise RuntimeError on every rank where they do not all call the same collective on tensors that fit together.

        MPI would not notice: some ranks get a wrong value, others an error or none at all, and the next operation meets
        what was left over. This costs one all-reduce of 16 bytes.
        """
        meant = (
            f"{operation.kind}{f' with root {operation.global_peer}' if operation.peer is not None else ''}: {detail}"
        )
        number = int.from_bytes(hashlib.blake2b(meant.encode(), digest_size=7).digest())
        if complaint:
            number = 2**60 + self._rank  # no other rank's
        highest = array("q", [number, -number])
        self._communicator.Allreduce(MPI.IN_PLACE, highest, MPI.MAX)
        if highest[0] == -highest[1] and not complaint:
            return
        line = operation.user_line()
        said = self._communicator.allgather(
            f"called {meant}{f', at {line}' if line else ''}{complaint and f': {complaint}'}"
        )
        by_text: dict[str, list[int]] = {}
        for rank, text in zip(self._members.ranks, said, strict=True):
            by_text.setdefault(text, []).append(rank)
        raise RuntimeError(
            f"the ranks do not agree on operation {operation.number} of {self._members}, so nothing was moved:"
            + "".join(f"\n  {list_ranks(ranks)} {text}" for text, ranks in by_text.items())
        )

    # -- reductions

    def allreduce(self, tensors, opts=None):
        opts = opts or c10d.AllreduceOptions()
        if any(tensor.is_sparse for tensor in tensors):
            return self._allreduce_sparse(tensors, opts)
        targets = [buffers.usable(tensor) for tensor in tensors]
        op = opts.reduceOp

        def run():
            for target in targets:
                values = buffers.addable(target)
                self._communicator.Allreduce(
                    MPI.IN_PLACE, buffers.numbers_of(values), buffers.operation(op, values.dtype)
                )
                buffers.store_result(values, target, op, self._size)

        return self._collective(
            "all_reduce", f"{_named(op)} of {buffers.lengths(targets)}", run, targets[0], tensors, opts
        )

    allreduce_coalesced = allreduce

    def _allreduce_sparse(self, tensors, opts):
        """The sum of sparse tensors, whose elements may lie in different places on each rank: all ranks gather them and
        add them up."""
        targets, op = [buffers.usable_sparse(tensor) for tensor in tensors], opts.reduceOp
        if op.op not in (dist.ReduceOp.SUM, dist.ReduceOp.AVG):
            raise ValueError(
                f"the mpi backend adds sparse tensors up (SUM, AVG) and knows no {_named(op)} of them: use .to_dense()"
            )

        def run():
            for target in targets:
                own = target.coalesce()
                counts = self._communicator.allgather(own._nnz())
                indices = self._gathered(own.indices().t(), counts)
                values = self._gathered(own.values(), counts)
                total = torch.sparse_coo_tensor(indices.t(), values, own.shape, check_invariants=False).coalesce()
                buffers.store_result(total, target, op, self._size)

        forms = ", ".join(
            f"sparse {buffers.dtype_name(t)}{list(t.shape)} with {t.sparse_dim()} sparse dimensions" for t in targets
        )
        return self._collective("all_reduce", f"{_named(op)} of {forms}", run, targets[0]._values(), tensors, opts)

    def _gathered(self, rows: torch.Tensor, counts: list[int]) -> torch.Tensor:
        """The rows of all ranks, one rank's after the other's; counts: how many each has."""
        own = buffers.in_one_piece(rows)
        everything = torch.empty((sum(counts), *rows.shape[1:]), dtype=rows.dtype)
        row_bytes = math.prod(rows.shape[1:]) * rows.element_size()
        self._communicator.Allgatherv(
            buffers.bytes_of(own), buffers.pieces_of(everything, [count * row_bytes for count in counts])
        )
        return everything

    def reduce(self, tensors, opts):
        target, root, op = buffers.usable(tensors[0]), opts.rootRank, opts.reduceOp

        def run():
            values = buffers.addable(target)
            numbers, operation = buffers.numbers_of(values), buffers.operation(op, values.dtype)
            if self._rank == root:
                self._communicator.Reduce(MPI.IN_PLACE, numbers, operation, root)
                buffers.store_result(values, target, op, self._size)
            else:
                self._communicator.Reduce(numbers, None, operation, root)

        return self._collective(
            "reduce", f"{_named(op)} of {buffers.lengths([target])}", run, target, tensors, opts, root
        )

    def reduce_scatter(self, outputs, input_lists, opts=None):
        """Rank k receives the reduced k-th input; these may differ in size."""
        opts = opts or c10d.ReduceScatterOptions()
        target, op = buffers.usable(outputs[0]), opts.reduceOp
        inputs = [buffers.usable(tensor) for tensor in input_lists[0]]
        counts = [tensor.numel() for tensor in inputs]
        _require(len(inputs) == self._size, f"reduce_scatter takes one input per rank: {self._size}, not {len(inputs)}")
        own = counts[self._rank]
        _require(
            own == target.numel(),
            f"reduce_scatter: the output has {target.numel()} elements, input {self._rank} has {own}",
        )

        def run():
            values = buffers.addable(torch.cat([tensor.reshape(-1) for tensor in inputs]))
            total = buffers.room_for(target, values.dtype)
            operation = buffers.operation(op, values.dtype)
            self._communicator.Reduce_scatter(buffers.numbers_of(values), buffers.numbers_of(total), counts, operation)
            buffers.store_result(total, target, op, self._size)

        return self._collective(
            "reduce_scatter", f"{_named(op)} of {buffers.lengths(inputs)}", run, inputs[0], outputs, opts
        )

    def reduce_scatter_single(self, output, input, opts=None):
        return self._reduce_scatter_tensors([output], [input], opts or c10d.ReduceScatterOptions())

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None):
        return self._reduce_scatter_tensors(outputs, inputs, opts or c10d.ReduceScatterOptions())

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def _reduce_scatter_tensors(self, outputs, inputs, opts):
        pairs = [(buffers.usable(output), buffers.usable(input)) for output, input in zip(outputs, inputs, strict=True)]
        op = opts.reduceOp
        for target, input in pairs:
            self._require_shares("reduce_scatter", whole=input, part=target)

        def run():
            for target, input in pairs:
                values = buffers.addable(input)
                total = buffers.room_for(target, values.dtype)
                operation = buffers.operation(op, values.dtype)
                self._communicator.Reduce_scatter_block(
                    buffers.numbers_of(values), buffers.numbers_of(total), operation
                )
                buffers.store_result(total, target, op, self._size)

        detail = f"{_named(op)} of {buffers.lengths([input for _, input in pairs])}"
        return self._collective("reduce_scatter", detail, run, pairs[0][1], outputs, opts)

    # -- collectives that only move data

    def broadcast(self, tensors, opts=None):
        opts = opts or c10d.BroadcastOptions()
        targets, root = [buffers.usable(tensor) for tensor in tensors], opts.rootRank

        def run():
            for target in targets:
                values = buffers.in_one_piece(target)
                self._communicator.Bcast(buffers.bytes_of(values), root)
                if values is not target and self._rank != root:
                    target.copy_(values)

        return self._collective("broadcast", buffers.lengths(targets), run, targets[0], tensors, opts, root)

    def allgather(self, output_lists, inputs, opts=None):
        """Every rank's input on every rank; the inputs may differ in size from rank to rank."""
        return self._all_gather_lists(output_lists, inputs, opts or c10d.AllgatherOptions())

    def allgather_coalesced(self, output_lists, inputs, opts=None):
        """The same with several inputs: output_lists[k] are those of rank k."""
        _require(
            len(output_lists) == self._size,
            f"all_gather_coalesced takes {self._size} lists, one per rank, not {len(output_lists)}",
        )
        for rank, outputs in enumerate(output_lists):
            _require(
                len(outputs) == len(inputs),
                f"all_gather_coalesced: list {rank} has {len(outputs)} tensors, there are {len(inputs)} inputs",
            )
        by_input = [list(outputs) for outputs in zip(*output_lists, strict=True)]
        return self._all_gather_lists(by_input, inputs, opts or c10d.AllgatherOptions(), output_lists)

    def _all_gather_lists(self, output_lists, inputs, opts, result=None):
        pairs = [
            ([buffers.usable(output) for output in outputs], buffers.usable(input))
            for outputs, input in zip(output_lists, inputs, strict=True)
        ]
        for outputs, input in pairs:
            self._require_list("all_gather", outputs, input)

        def run():
            for outputs, input in pairs:
                received, sizes = buffers.room_for_all(outputs)
                own = buffers.in_one_piece(input)
                self._communicator.Allgatherv(buffers.bytes_of(own), buffers.pieces_of(received, sizes))
                buffers.deal_out(received, outputs)

        detail = "; ".join(buffers.lengths(outputs) for outputs, _ in pairs)
        return self._collective("all_gather", detail, run, pairs[0][1], result or output_lists, opts)

    def all_gather_single(self, output, input, opts=None):
        return self._all_gather_tensors([output], [input], opts or c10d.AllgatherOptions())

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        return self._all_gather_tensors(outputs, inputs, opts or c10d.AllgatherOptions())

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def _all_gather_tensors(self, outputs, inputs, opts):
        pairs = [(buffers.usable(output), buffers.usable(input)) for output, input in zip(outputs, inputs, strict=True)]
        for target, input in pairs:
            self._require_shares("all_gather", whole=target, part=input)

        def run():
            for target, input in pairs:
                room, own = buffers.room_for(target), buffers.in_one_piece(input)
                # FSDP2 gathers in place: its input is this rank's share of the output already.
                in_place = own.data_ptr() == room.data_ptr() + self._rank * own.nbytes
                self._communicator.Allgather(
                    MPI.IN_PLACE if in_place else buffers.bytes_of(own), buffers.bytes_of(room)
                )
                if room is not target:
                    target.copy_(room)

        return self._collective(
            "all_gather", buffers.lengths([input for _, input in pairs]), run, pairs[0][1], outputs, opts
        )

    def gather(self, output_lists, inputs, opts):
        """The inputs of all ranks on the root; they may differ in size."""
        input, root = buffers.usable(inputs[0]), opts.rootRank
        outputs = [buffers.usable(output) for output in output_lists[0]] if self._rank == root else []
        if self._rank == root:
            self._require_list("gather", outputs, input)

        def wrong_sizes():
            sent = self._communicator.gather(input.nbytes, root)
            if self._rank != root:
                return ""
            return _difference(
                [tensor.nbytes for tensor in outputs], sent, "place {} of its list has {} B, that rank sends {}"
            )

        def run():
            own = buffers.in_one_piece(input)
            if self._rank != root:
                self._communicator.Gatherv(buffers.bytes_of(own), None, root)
                return
            received, sizes = buffers.room_for_all(outputs)
            self._communicator.Gatherv(buffers.bytes_of(own), buffers.pieces_of(received, sizes), root)
            buffers.deal_out(received, outputs)

        detail = buffers.dtype_name(input)
        return self._collective("gather", detail, run, input, output_lists, opts, root, wrong_sizes)

    def scatter(self, outputs, input_lists, opts):
        """The root's k-th input on rank k; they may differ in size."""
        target, root = buffers.usable(outputs[0]), opts.rootRank
        inputs = [buffers.usable(input) for input in input_lists[0]] if self._rank == root else []
        if self._rank == root:
            self._require_list("scatter", inputs, target)

        def wrong_sizes():
            sent = self._communicator.scatter([tensor.nbytes for tensor in inputs] or None, root)
            return (
                "" if sent == target.nbytes else f"its tensor has {target.nbytes} B, the root's list has {sent} for it"
            )

        def run():
            room = buffers.room_for(target)
            pieces = None
            if self._rank == root:
                joined = buffers.joined(inputs)
                pieces = buffers.pieces_of(joined, [tensor.nbytes for tensor in inputs])
            self._communicator.Scatterv(pieces, buffers.bytes_of(room), root)
            if room is not target:
                target.copy_(room)

        first, detail = inputs[0] if inputs else target, buffers.dtype_name(target)
        return self._collective("scatter", detail, run, first, outputs, opts, root, wrong_sizes)

    def alltoall(self, outputs, inputs, opts=None):
        """Rank k receives every rank's k-th input; sizes may differ."""
        outputs = [buffers.usable(output) for output in outputs]
        inputs = [buffers.usable(input) for input in inputs]
        for tensors in (outputs, inputs):
            _require(
                len(tensors) == self._size, f"all_to_all takes {self._size} tensors, one per rank, not {len(tensors)}"
            )

        def run():
            joined = buffers.joined(inputs)
            received, sizes = buffers.room_for_all(outputs)
            pieces = buffers.pieces_of(joined, [tensor.nbytes for tensor in inputs])
            self._communicator.Alltoallv(pieces, buffers.pieces_of(received, sizes))
            buffers.deal_out(received, outputs)

        wrong_sizes = self._exchange_fits([tensor.nbytes for tensor in inputs], [tensor.nbytes for tensor in outputs])
        opts, detail = opts or c10d.AllToAllOptions(), buffers.dtype_name(inputs[0])
        return self._collective("all_to_all", detail, run, inputs[0], outputs, opts, None, wrong_sizes)

    def all_to_all_single(self, output, input, output_split_sizes, input_split_sizes, opts=None):
        """The same with one tensor, split along its first dimension: evenly, or as the split sizes say (in rows)."""
        target, source = buffers.usable(output), buffers.usable(input)
        sizes_out = self._split_sizes("output", target, output_split_sizes)
        sizes_in = self._split_sizes("input", source, input_split_sizes)

        def run():
            room, own = buffers.room_for(target), buffers.in_one_piece(source)
            self._communicator.Alltoallv(buffers.pieces_of(own, sizes_in), buffers.pieces_of(room, sizes_out))
            if room is not target:
                target.copy_(room)

        opts, detail, wrong_sizes = (
            opts or c10d.AllToAllOptions(),
            buffers.dtype_name(source),
            self._exchange_fits(sizes_in, sizes_out),
        )
        return self._collective("all_to_all", detail, run, source, [output], opts, None, wrong_sizes)

    alltoall_base = all_to_all_single

    def _exchange_fits(self, to_each: list[int], from_each: list[int]) -> Callable[[], str]:
        """A function that finds out what the other ranks send to this one, and says where it expects something else (in
        bytes)."""

        def wrong_sizes():
            sent = self._communicator.alltoall(to_each)
            return _difference(from_each, sent, "it has room for {1} B from rank {0}, which sends {2}")

        return wrong_sizes

    def barrier(self, opts=None):
        # That the ranks agree is all there is to it: nobody knows before the last one has come.
        return self._collective("barrier", "", lambda: None, None, [], opts or c10d.BarrierOptions())

    # -- point to point

    def send(self, tensors, destination: int, tag: int):
        tensor = buffers.in_one_piece(buffers.usable(tensors[0]))
        operation = MpiCall(self._members, "send", tensor, destination, tag, blocking=False)
        request = self._communicator.Isend(buffers.bytes_of(tensor), destination, tag)
        return self._under_way(Message(operation, request, tensor))

    def recv(self, tensors, source: int, tag: int):
        return self._receive(tensors[0], source, tag)

    def recv_anysource(self, tensors, tag: int):
        return self._receive(tensors[0], None, tag)

    def _receive(self, tensor: torch.Tensor, source: int | None, tag: int):
        target = buffers.usable(tensor)
        room = buffers.room_for(target)
        operation = MpiCall(self._members, "recv", target, source, tag, blocking=False)
        request = self._communicator.Irecv(buffers.bytes_of(room), MPI.ANY_SOURCE if source is None else source, tag)
        return self._under_way(Message(operation, request, room, target if room is not target else None))

    def _under_way(self, message: Message) -> Message:
        self._messages = [other for other in self._messages if not other.progress()]
        self._messages.append(message)
        return message

    # -- do the sizes fit?

    def _require_shares(self, kind: str, whole: torch.Tensor, part: torch.Tensor) -> None:
        fits = whole.numel() == self._size * part.numel() and whole.dtype == part.dtype
        _require(
            fits,
            f"{kind}: {whole.dtype}{list(whole.shape)} is not {self._size} times {part.dtype}{list(part.shape)}",
        )

    def _require_list(self, kind: str, tensors: list[torch.Tensor], own: torch.Tensor) -> None:
        _require(
            len(tensors) == self._size, f"{kind} takes a list of {self._size} tensors, one per rank, not {len(tensors)}"
        )
        mine = tensors[self._rank]
        _require(
            mine.nbytes == own.nbytes,
            f"{kind}: place {self._rank} of the list has shape {tuple(mine.shape)}, this rank's tensor"
            f" {tuple(own.shape)}",
        )

    def _split_sizes(self, what: str, tensor: torch.Tensor, rows: list[int]) -> list[int]:
        """The bytes of each rank's share of `tensor`."""
        if not rows:
            _require(
                tensor.dim() > 0 and tensor.shape[0] % self._size == 0,
                f"all_to_all_single: the {what}'s first dimension must be a multiple of {self._size}, or give split"
                " sizes",
            )
            return [tensor.nbytes // self._size] * self._size
        _require(
            len(rows) == self._size and sum(rows) == tensor.shape[0],
            f"all_to_all_single: {what} split sizes {list(rows)} do not cut {tensor.shape[0]} rows into {self._size}"
            " pieces",
        )
        bytes_per_row = tensor.nbytes // tensor.shape[0] if tensor.shape[0] else 0
        return [count * bytes_per_row for count in rows]


def _named(op: dist.ReduceOp) -> str:
    return op.op.name if hasattr(op.op, "name") else str(op)


def _difference(here: list[int], there: list[int], text: str) -> str:
    """`text` about the first rank for which the two lists differ, empty where none does."""
    for rank, (mine, theirs) in enumerate(zip(here, there, strict=True)):
        if mine != theirs:
            return text.format(rank, mine, theirs)
    return ""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _hide_from_compiler(*classes: type) -> None:
    """Let torch.compile run the methods of these classes as they are.

    It looks into every Python function that a compiled program reaches, and PyTorch's own groups, in C++, have none.
    This marks them as torch.compiler.disable does, without importing the compiler, which takes seconds.
    """
    as_it_is = _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP)  # the function and all that it calls
    for method in {value for one in classes for value in vars(one).values() if inspect.isfunction(value)}:
        set_code_exec_strategy(method.__code__, as_it_is)


_hide_from_compiler(ProcessGroup, Finished, Queued, OrderedFuture, Message)
