"""What a torch.distributed backend must do: one function per behaviour, run by every backend on 2, 3 and 4 ranks.

Each `case_...` is called on all ranks of an initialised default group and asserts values; what it returns is compared
between backends. `run_rank` runs them all on one rank and leaves a JSON file. As a program,
`process_group_suite.py gloo FOLDER 2 3 4` forks ranks for each world size, and `process_group_suite.py mpi FOLDER` is
one of the ranks that mpiexec has started.
"""

from __future__ import annotations

import copy
import functools
import importlib
import json
import operator
import os
import sys
import tempfile
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

TIMEOUT = timedelta(seconds=30)  # of the default group; a case takes milliseconds

# What a backend cannot do and need not.
LEFT_OUT = {
    "gloo": {
        "case_strided_messages": "gloo wants tensors in one piece",
        "case_strided_collectives": "gloo takes them and returns wrong values",
        "case_sends_nobody_waits_for": "gloo forgets them with their work object",
        "case_size_of_a_message_is_checked": "gloo does not look",
        "case_uneven_all_gather": "gloo wants equal sizes",
        "case_uneven_gather_and_scatter": "gloo wants equal sizes",
        "case_all_to_all_of_lists": "gloo wants equal sizes",
        "case_conjugated_views": "gloo itself takes no complex numbers",
        "case_ranks_that_do_not_agree": "gloo returns wrong values or waits for its timeout",
        "case_callbacks_keep_the_order_of_the_program": "gloo runs callbacks in any of its threads",
        "case_callbacks_in_several_groups": "gloo runs callbacks in any of its threads",
    },
    "mpi": {},
    "relay": {
        "case_strided_messages": "the relay wants tensors in one piece, as gloo does",
        "case_ranks_that_do_not_agree": "the relay ends the case at once and names it",
        **dict.fromkeys(
            (
                "case_all_gather_of_several_tensors",
                "case_conjugated_views",
                "case_sparse_tensors",
                "case_sparse_gradients",
                "case_powersgd",
                "case_compiled_ddp",
                "case_asynchronous_checkpoint",
                "case_profiler_events",
            ),
            "no exercise needs it",
        ),
        "case_size_of_a_message_is_checked": "the relay ends the case at once and names it",
        "case_uneven_gather_and_scatter": "the relay ends the case at once and names it",
        "case_uneven_reduce_scatter": "the relay ends the case at once and names it",
        "case_sizes_must_fit": "the relay ends the case at once and names it",
        "case_fsdp2": "a lesson on real ranks",
        "case_tensor_parallel": "a lesson on real ranks",
        "case_functional_collectives": "a lesson on real ranks",
    },
}


def cases(backend: str) -> dict[str, Callable[[int, int], object]]:
    """The behaviours a backend is held to, by name, in the order of this file."""
    named = {name: function for name, function in globals().items() if name.startswith("case_")}
    return {name: function for name, function in named.items() if name not in LEFT_OUT[backend]}


def expected_sum(world_size: int) -> int:
    """0 + 1 + ... + (world_size - 1)"""
    return world_size * (world_size - 1) // 2


# --- point to point


def case_ring_of_sends(rank: int, world_size: int) -> None:
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    mine, received = torch.arange(10.0) + 100 * rank, torch.empty(10)
    if rank % 2 == 0:
        dist.send(mine, right)
        source = dist.recv(received, left)
    else:
        source = dist.recv(received, left)
        dist.send(mine, right)
    assert source == left
    assert torch.equal(received, torch.arange(10.0) + 100 * left)


def case_messages_from_any_source(rank: int, world_size: int) -> None:
    if rank != 0:
        dist.send(torch.full((3,), float(rank)), 0)
        return
    sources = set()
    for _ in range(world_size - 1):
        received = torch.empty(3)
        source = dist.recv(received)
        assert received.tolist() == [source] * 3
        sources.add(source)
    assert sources == set(range(1, world_size))


def case_isend_irecv_match_by_tag(rank: int, world_size: int) -> None:
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    mine = torch.full((1 << 18,), float(rank))  # 1 MB: too long for any eager protocol
    tag_3, tag_7 = torch.empty(1 << 18), torch.empty(1 << 18)
    works = [dist.irecv(tag_7, left, tag=7), dist.irecv(tag_3, left, tag=3)]
    works += [dist.isend(mine, right, tag=3), dist.isend(mine + 0.5, right, tag=7)]
    for work in works:
        work.wait()
    assert (tag_3 == left).all() and (tag_7 == left + 0.5).all()
    assert all(work.is_completed() for work in works)


def case_messages_keep_their_order(rank: int, world_size: int) -> None:
    if rank == 0:
        for number in range(20):
            dist.send(torch.tensor([number]), 1)
    elif rank == 1:
        received = [torch.empty(1, dtype=torch.int64) for _ in range(20)]
        for tensor in received:
            dist.recv(tensor, 0)
        assert [tensor.item() for tensor in received] == list(range(20))


def case_messages_of_any_form(rank: int, world_size: int) -> None:
    """No elements at all, no dimension, several dtypes."""
    tensors = [
        torch.empty(0),
        torch.empty(3, 0),
        torch.tensor(5),
        torch.tensor([True, False]),
        torch.ones(3, dtype=torch.bfloat16),
    ]
    if rank == 0:
        for tensor in tensors:
            dist.send(tensor, world_size - 1)
    elif rank == world_size - 1:
        for tensor in tensors:
            target = torch.zeros_like(tensor)
            dist.recv(target, 0)
            assert torch.equal(target, tensor)


def case_strided_messages(rank: int, world_size: int) -> None:
    matrix = torch.arange(12.0).view(3, 4)
    if rank == 0:
        dist.send(matrix[:, 1], 1)
        dist.send(matrix.t(), 1)
    elif rank == 1:
        room = torch.full((3, 2), -1.0)
        dist.recv(room[:, 0], 0)
        assert room.tolist() == [[1, -1], [5, -1], [9, -1]]
        transposed = torch.empty(3, 4).t()
        dist.recv(transposed, 0)
        assert torch.equal(transposed, matrix.t())


def case_batch_of_messages(rank: int, world_size: int) -> None:
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    received = torch.empty(9)
    batch = [dist.P2POp(dist.isend, torch.full((9,), float(rank)), right), dist.P2POp(dist.irecv, received, left)]
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    assert (received == left).all()


def case_sends_nobody_waits_for(rank: int, world_size: int) -> None:
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for number in range(3):
        dist.isend(torch.full((40_000,), float(10 * rank + number)), right)
    for number in range(3):
        received = torch.empty(40_000)
        dist.recv(received, left)
        assert (received == 10 * left + number).all()


def case_size_of_a_message_is_checked(rank: int, world_size: int) -> None:
    for sent, room in ((4, 5), (5, 4)):
        if rank == 0:
            dist.send(torch.zeros(sent), 1)
        elif rank == 1:
            try:
                dist.recv(torch.zeros(room), 0)
            except RuntimeError as error:
                assert "recv from rank 0" in str(error) and "process_group_suite.py, line" in str(error)
            else:
                raise AssertionError("a message of another size was accepted")


# --- collectives


def case_all_reduce_of_every_dtype(rank: int, world_size: int) -> None:
    names = "float64 float32 float16 bfloat16 int64 int32 int8 uint8"
    for dtype in (getattr(torch, name) for name in names.split()):
        tensor = (torch.arange(1000) % 17 + rank).to(dtype)
        dist.all_reduce(tensor)
        assert torch.equal(tensor.long(), (torch.arange(1000) % 17) * world_size + expected_sum(world_size)), dtype


def case_all_reduce_of_every_operation(rank: int, world_size: int) -> None:
    ranks = range(world_size)
    expected = {
        dist.ReduceOp.SUM: float(sum(r + 1 for r in ranks)),
        dist.ReduceOp.AVG: sum(r + 1 for r in ranks) / world_size,
        dist.ReduceOp.PRODUCT: float(torch.tensor([r + 1 for r in ranks]).prod()),
        dist.ReduceOp.MIN: 1.0,
        dist.ReduceOp.MAX: float(world_size),
    }
    for operation, value in expected.items():
        tensor = torch.full((5,), rank + 1.0, dtype=torch.float64)
        dist.all_reduce(tensor, operation)
        assert tensor.tolist() == [value] * 5, operation


def case_averages_of_whole_numbers_are_rounded_towards_zero(rank: int, world_size: int) -> None:
    if dist.get_backend() == "gloo":
        return  # has no such averages
    tensor = torch.tensor([7, -7]) + rank
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    sums = [7 * world_size + sum(range(world_size)), -7 * world_size + sum(range(world_size))]
    assert tensor.tolist() == [int(total / world_size) for total in sums]


def case_all_reduce_of_bits(rank: int, world_size: int) -> None:
    bits = [0b1000 | 1 << r for r in range(world_size)]
    expected = {
        dist.ReduceOp.BAND: functools.reduce(operator.and_, bits),
        dist.ReduceOp.BOR: functools.reduce(operator.or_, bits),
        dist.ReduceOp.BXOR: functools.reduce(operator.xor, bits),
    }
    for operation, value in expected.items():
        tensor = torch.tensor([bits[rank]])
        dist.all_reduce(tensor, operation)
        assert tensor.item() == value


def case_all_reduce_of_any_form(rank: int, world_size: int) -> None:
    scalar = torch.tensor(rank)
    dist.all_reduce(scalar)
    assert scalar.item() == expected_sum(world_size)
    empty = torch.empty(0, 3)
    dist.all_reduce(empty)
    assert empty.shape == (0, 3)
    weight = nn.Parameter(torch.ones(3))
    dist.all_reduce(weight.data)
    assert weight.tolist() == [world_size] * 3


def case_all_reduce_of_complex_numbers(rank: int, world_size: int) -> None:
    tensor = torch.full((3,), complex(rank, 1))
    dist.all_reduce(tensor)
    assert tensor.tolist() == [complex(expected_sum(world_size), world_size)] * 3


def case_asynchronous_all_reduces(rank: int, world_size: int) -> None:
    tensors = [torch.full((20_000,), float(rank + k)) for k in range(5)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    doubled = works[2].get_future().then(lambda future: future.value()[0][0].item() * 2)
    for work in works:
        work.wait()
    for k, tensor in enumerate(tensors):
        assert (tensor == k * world_size + expected_sum(world_size)).all()
    assert doubled.wait() == 2 * (2 * world_size + expected_sum(world_size))
    last = torch.ones(1)
    dist.all_reduce(last)  # a synchronous one behind them
    assert last.item() == world_size and all(work.is_completed() for work in works)


def case_broadcast_from_every_root(rank: int, world_size: int) -> None:
    for root in range(world_size):
        for dtype in (torch.float64, torch.bfloat16, torch.int32, torch.bool):
            tensor = (torch.arange(7) % 2 + (root if rank == root else 50)).to(dtype)
            dist.broadcast(tensor, root)
            assert torch.equal(tensor, (torch.arange(7) % 2 + root).to(dtype))
    dist.broadcast(torch.empty(0), 0)


def case_reduce_to_every_root(rank: int, world_size: int) -> None:
    for root in range(world_size):
        tensor = torch.arange(5) + rank
        dist.reduce(tensor, root)
        if rank == root:
            assert torch.equal(tensor, torch.arange(5) * world_size + expected_sum(world_size))


def case_all_gather(rank: int, world_size: int) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        gathered = [torch.zeros(2, 3, dtype=dtype) for _ in range(world_size)]
        dist.all_gather(gathered, torch.full((2, 3), rank).to(dtype))
        for source, tensor in enumerate(gathered):
            assert torch.equal(tensor, torch.full((2, 3), source).to(dtype))
    room = torch.zeros(world_size, 4)
    gathered = [room[source, ::2] for source in range(world_size)]  # strided on both sides
    dist.all_gather(gathered, (torch.arange(4.0) + rank)[::2])
    assert room.tolist() == [[source, 0, source + 2, 0] for source in range(world_size)]
    empty = [torch.empty(0) for _ in range(world_size)]
    dist.all_gather(empty, torch.empty(0))


def case_all_gather_into_one_tensor(rank: int, world_size: int) -> None:
    gathered = torch.empty(world_size * 3)
    dist.all_gather_single(gathered, torch.full((3,), float(rank)))
    assert gathered.view(world_size, 3)[:, 0].tolist() == list(range(world_size))
    in_place = torch.full((2 * world_size,), -1.0)
    mine = in_place[2 * rank : 2 * rank + 2].fill_(rank)
    dist.all_gather_single(in_place, mine)
    assert in_place.tolist() == [source for source in range(world_size) for _ in range(2)]


def case_gather_and_scatter(rank: int, world_size: int) -> None:
    for root in range(world_size):
        gathered = [torch.empty(2) for _ in range(world_size)] if rank == root else None
        dist.gather(torch.full((2,), float(rank)), gathered, dst=root)
        if rank == root:
            assert [tensor.tolist() for tensor in gathered] == [[source] * 2 for source in range(world_size)]
        share = torch.empty(2)
        shares = [torch.full((2,), 10.0 * root + k) for k in range(world_size)] if rank == root else None
        dist.scatter(share, shares, src=root)
        assert share.tolist() == [10 * root + rank] * 2


def case_uneven_all_gather(rank: int, world_size: int) -> None:
    """Rank k has k elements, rank 0 none."""
    gathered = [torch.empty(k) for k in range(world_size)]
    dist.all_gather(gathered, torch.full((rank,), float(rank)))
    assert [tensor.tolist() for tensor in gathered] == [[k] * k for k in range(world_size)]


def case_uneven_gather_and_scatter(rank: int, world_size: int) -> None:
    mine = torch.full((rank,), float(rank))
    gathered = [torch.empty(k) for k in range(world_size)] if rank == 1 else None
    dist.gather(mine, gathered, dst=1)
    if rank == 1:
        assert [tensor.tolist() for tensor in gathered] == [[k] * k for k in range(world_size)]
    share = torch.empty(rank)
    dist.scatter(share, [torch.full((k,), k + 0.5) for k in range(world_size)] if rank == 0 else None, src=0)
    assert share.tolist() == [rank + 0.5] * rank


def case_reduce_scatter(rank: int, world_size: int) -> None:
    total = torch.empty(4)
    dist.reduce_scatter(total, [torch.full((4,), float(k + rank)) for k in range(world_size)])
    assert total.tolist() == [world_size * rank + expected_sum(world_size)] * 4
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        total = torch.empty(4, dtype=dtype)
        dist.reduce_scatter_single(total, torch.arange(4 * world_size).to(dtype))
        assert torch.equal(total, (world_size * torch.arange(4 * rank, 4 * rank + 4)).to(dtype))
    average = torch.empty(1)
    dist.reduce_scatter_single(average, torch.full((world_size,), float(rank)), dist.ReduceOp.AVG)
    assert average.item() == (world_size - 1) / 2


def case_uneven_reduce_scatter(rank: int, world_size: int) -> None:
    total = torch.empty(rank)
    dist.reduce_scatter(total, [torch.full((k,), float(rank)) for k in range(world_size)])
    assert total.tolist() == [expected_sum(world_size)] * rank


def case_all_to_all(rank: int, world_size: int) -> None:
    received = torch.empty(world_size)
    dist.all_to_all_single(received, torch.arange(float(world_size)) + 10 * rank)
    assert received.tolist() == [10 * source + rank for source in range(world_size)]
    # Rank r sends k rows to rank k: nothing to rank 0.
    rows = sum(range(world_size))
    received = torch.empty(rank * world_size, 2)
    dist.all_to_all_single(received, torch.full((rows, 2), float(rank)), [rank] * world_size, list(range(world_size)))
    assert received[:, 1].tolist() == [source for source in range(world_size) for _ in range(rank)]


def case_all_to_all_of_lists(rank: int, world_size: int) -> None:
    outputs = [torch.empty(source + rank) for source in range(world_size)]
    dist.all_to_all(outputs, [torch.full((rank + k,), 10.0 * rank + k) for k in range(world_size)])
    assert [tensor.tolist() for tensor in outputs] == [
        [10 * source + rank] * (source + rank) for source in range(world_size)
    ]


def case_strided_collectives(rank: int, world_size: int) -> None:
    """Transposed matrices, columns and every second element; their neighbours stay as they are."""
    transposed = torch.arange(24.0).view(4, 6).t() * (rank + 1)
    dist.all_reduce(transposed)
    assert torch.equal(transposed, torch.arange(24.0).view(4, 6).t() * (expected_sum(world_size) + world_size))
    every_second = torch.zeros(10)
    dist.all_reduce(every_second[::2].add_(1))
    assert every_second.tolist() == [world_size, 0] * 5
    matrix = torch.full((3, 2), float(rank))
    dist.broadcast(matrix[:, 0], world_size - 1)
    assert matrix.tolist() == [[world_size - 1, rank]] * 3
    dist.reduce(matrix[:, 1], 0)
    assert rank != 0 or matrix[:, 1].tolist() == [expected_sum(world_size)] * 3
    gathered = torch.zeros(2, world_size).t()
    dist.all_gather_single(gathered, torch.tensor([[rank, 0], [rank + 0.5, 0]])[:, 0])
    assert gathered.tolist() == [[source, source + 0.5] for source in range(world_size)]
    total = torch.zeros(4)
    dist.reduce_scatter_single(total[::2], torch.arange(4.0 * world_size)[::2])
    assert total.tolist() == [4 * rank * world_size, 0, (4 * rank + 2) * world_size, 0]
    exchanged = torch.zeros(2, world_size).t()[:, 0]
    dist.all_to_all_single(exchanged, torch.arange(2.0 * world_size)[::2] + 100 * rank)
    assert exchanged.tolist() == [100 * source + 2 * rank for source in range(world_size)]


def case_sizes_must_fit(rank: int, world_size: int) -> None:
    wrong = [
        lambda: dist.all_gather_single(torch.empty(3 * world_size + 1), torch.empty(3)),
        lambda: dist.all_gather([torch.empty(3)] * (world_size - 1), torch.empty(3)),
    ]
    # whose "Check failed" now and then ends the process, or comes with a later operation
    if dist.get_backend() != "gloo":
        wrong.append(lambda: dist.all_to_all_single(torch.empty(world_size), torch.empty(world_size + 1)))
        wrong.append(lambda: dist.reduce_scatter_single(torch.empty(3), torch.empty(3 * world_size - 1)))
    for call in wrong:
        try:
            call()
        except (ValueError, RuntimeError):
            continue
        raise AssertionError("sizes that do not fit were accepted")


def case_barrier_waits_for_everybody(rank: int, world_size: int) -> None:
    if rank == world_size - 1:
        time.sleep(0.05)
    arrived = torch.tensor([time.monotonic()], dtype=torch.float64)
    dist.barrier()
    left = time.monotonic()
    dist.all_reduce(arrived, dist.ReduceOp.MAX)
    assert left >= arrived.item()
    dist.barrier(async_op=True).wait()


def case_objects(rank: int, world_size: int) -> None:
    everything = [None] * world_size
    dist.all_gather_object(everything, {"rank": rank, "text": "x" * rank})
    assert everything == [{"rank": r, "text": "x" * r} for r in range(world_size)]
    greeting = [f"from {rank}", rank]
    dist.broadcast_object_list(greeting, src=1)
    assert greeting == ["from 1", 1]
    gathered = [None] * world_size if rank == 0 else None
    dist.gather_object((rank,), gathered, dst=0)
    assert gathered == ([(r,) for r in range(world_size)] if rank == 0 else None)
    share = [None]
    dist.scatter_object_list(share, [f"for {k}" for k in range(world_size)] if rank == 1 else None, src=1)
    assert share == [f"for {rank}"]


def case_all_gather_of_several_tensors(rank: int, world_size: int) -> None:
    """Outputs are [rank][tensor]; once with as many tensors as ranks, where a transposed result would have the right
    shape.
    """
    for number in (world_size, world_size + 2):
        inputs = [torch.full((2,), 10.0 * rank + k) for k in range(number)]
        outputs = [[torch.empty(2) for _ in range(number)] for _ in range(world_size)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # PyTorch means to deprecate it
            dist.all_gather_coalesced(outputs, inputs)
        assert [[tensor.tolist() for tensor in tensors] for tensors in outputs] == [
            [[10.0 * source + k] * 2 for k in range(number)] for source in range(world_size)
        ]


def case_one_element_of_any_stride(rank: int, world_size: int) -> None:
    """The gradient of a sum is one number with stride 0."""
    ones = [torch.tensor(10.0 * rank + k).expand(1) for k in range(world_size)]
    received = [torch.empty(1) for _ in range(world_size)]
    dist.all_to_all(received, ones)
    assert [tensor.item() for tensor in received] == [10.0 * source + rank for source in range(world_size)]
    share = torch.empty(1)
    dist.scatter(share, ones if rank == 0 else None, src=0)
    assert share.item() == rank
    total = torch.empty(1)
    dist.reduce_scatter(total, ones)
    assert total.item() == 10 * expected_sum(world_size) + world_size * rank


def case_conjugated_views(rank: int, world_size: int) -> None:
    """Views that share memory with numbers of another sign."""
    view = torch.full((3,), complex(1, 1 + rank)).conj()
    received = [torch.zeros(3, dtype=torch.complex64) for _ in range(world_size)]
    dist.group.WORLD.allgather([received], [view]).wait()
    assert [tensor[0].item() for tensor in received] == [complex(1, -1 - source) for source in range(world_size)]
    negative = torch.full((2,), complex(0, 1.0 + rank)).conj().imag  # a view with a sign of its own
    assert negative.is_neg()
    dist.all_reduce(negative)
    assert negative.tolist() == [-world_size - expected_sum(world_size)] * 2


def case_sparse_tensors(rank: int, world_size: int) -> None:
    """Elements in different places, more of them on higher ranks, none on rank 0, one place twice."""
    places = [[k % 5 for k in range(2 * rank)], [k % 2 for k in range(2 * rank)]]
    tensor = torch.sparse_coo_tensor(places, torch.full((2 * rank, 3), float(rank)), (5, 2, 3), check_invariants=False)
    expected = tensor.to_dense()
    dist.all_reduce(expected)
    dist.all_reduce(tensor)
    assert tensor.is_sparse and torch.equal(tensor.to_dense(), expected)


def case_ranks_that_do_not_agree(rank: int, world_size: int) -> None:
    """Every rank gets the error, with what each has called at which line, and the group goes on as if nothing had been."""
    root, last = rank == 0, rank == world_size - 1
    lists = [torch.zeros(2) for _ in range(world_size)]
    wrong = [
        lambda: dist.all_reduce(torch.ones(4 if root else 5)),
        lambda: dist.all_reduce(torch.ones(4 if root else 5), async_op=True).wait(),
        lambda: dist.all_reduce(torch.ones(4), dist.ReduceOp.MAX if root else dist.ReduceOp.SUM),
        lambda: dist.all_reduce(torch.ones(4, dtype=torch.float32 if root else torch.int32)),
        lambda: dist.all_reduce(torch.ones(2, 2) if root else torch.eye(2).to_sparse()),
        lambda: dist.reduce(torch.ones(4 if root else 5), 0),
        lambda: dist.reduce(torch.ones(4), rank),
        lambda: dist.broadcast(torch.ones(5 if root else 4), 0),
        lambda: dist.broadcast(torch.ones(4), rank),
        lambda: dist.all_gather_single(torch.ones((4 + root) * world_size), torch.ones(4 + root)),
        lambda: dist.all_gather([torch.ones(4 + root)] * world_size, torch.ones(4 + root)),
        lambda: dist.reduce_scatter_single(torch.ones(4 + root), torch.ones((4 + root) * world_size)),
        lambda: dist.gather(torch.ones(3 if last else 2), lists if root else None, dst=0),
        lambda: dist.scatter(torch.ones(3 if last else 2), lists if root else None, src=0),
        lambda: dist.all_to_all([torch.ones(3 if last else 2)] * world_size, lists),
        lambda: dist.all_to_all_single(torch.ones(world_size), torch.ones(world_size), [1] * world_size, uneven),
        lambda: dist.barrier() if root else dist.all_reduce(torch.ones(1)),
        lambda: (
            dist.gather(torch.ones(2), lists if root else None, dst=0)
            if root
            else dist.scatter(torch.ones(2), None, src=0)
        ),
    ]
    uneven = [2, 0, *[1] * (world_size - 2)] if root else [1] * world_size
    for number, call in enumerate(wrong):
        try:
            call()
        except RuntimeError as error:
            text = str(error)
            assert "the ranks do not agree" in text and text.count("process_group_suite.py, line") >= 2, text
        else:
            raise AssertionError(f"call {number} was accepted")
        ones = torch.ones(3)
        dist.all_reduce(ones)
        assert ones.tolist() == [world_size] * 3


# --- what is done when an operation is complete


def case_callbacks_that_wait(rank: int, world_size: int) -> None:
    """A callback starts a collective and waits for it, in whose callback there is another one, and so on."""

    def next_one(depth: int):
        def callback(future):
            value = future.value()[0].clone()
            if depth:
                value += dist.all_reduce(torch.ones(2), async_op=True).get_future().then(next_one(depth - 1)).wait()
            return value

        return callback

    depth = 1 if dist.get_backend() == "gloo" else 4  # gloo has two threads, and each such callback keeps one
    total = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(next_one(depth)).wait()
    assert total.tolist() == [(depth + 1) * world_size] * 2

    def synchronous(future):
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        return tensor

    both = [dist.all_reduce(torch.ones(1), async_op=True).get_future() for _ in range(2)]
    assert torch.futures.collect_all(both).then(synchronous).wait().tolist() == [world_size] * 2


def case_callbacks_have_run_when_an_operation_is_complete(rank: int, world_size: int) -> None:
    seen = []
    for number in range(10):
        work = dist.all_reduce(torch.ones(1), async_op=True)
        work.get_future().add_done_callback(lambda future, number=number: seen.append(number))
        work.wait()
        assert seen == list(range(number + 1))


def sum_in_flight(value: float, group: dist.ProcessGroup | None = None) -> dist.Work:
    return dist.all_reduce(torch.full((1,), float(value)), group=group, async_op=True)


def case_callbacks_keep_the_order_of_the_program(rank: int, world_size: int) -> None:
    """Callbacks start collectives alike in kind and size, on each rank another one is late: no value goes astray."""

    def callback(number: int):
        def run(future):
            time.sleep(0.01 * ((rank + number) % 2))
            started.append(number)
            return sum_in_flight(number).get_future().wait()[0].item()

        return run

    for turn in range(4):
        started: list[int] = []
        works = [sum_in_flight(1), sum_in_flight(2)]
        time.sleep(0.01 * ((rank + turn) % 2))  # complete on some ranks when their callbacks come
        first = [work.get_future().then(callback(10 + k)) for k, work in enumerate(works)]
        then = [future.then(callback(20 + k)) for k, future in enumerate(first)]
        behind = torch.full((1,), 3.0)
        dist.all_reduce(behind)
        assert started == [10, 11, 20, 21] and behind.item() == 3 * world_size
        assert [future.wait() for future in first + then] == [number * world_size for number in started]


def case_callbacks_in_several_groups(rank: int, world_size: int) -> None:
    """What is called in one group has a callback that waits for the other group, and the other way round."""
    here, there = dist.new_group(), dist.new_group()

    def callback(number: int, group):
        def run(future):
            time.sleep(0.005 * ((rank + number) % 2))
            return sum_in_flight(number, group).get_future().wait()[0].item()

        return run

    for _ in range(4):
        works = [sum_in_flight(1, here), sum_in_flight(2, there)]
        futures = [works[0].get_future().then(callback(3, there)), works[1].get_future().then(callback(4, here))]
        assert [future.wait() for future in futures] == [3 * world_size, 4 * world_size]
        assert [work.get_future().wait()[0].item() for work in works] == [world_size, 2 * world_size]
    dist.barrier()
    for group in (here, there):
        dist.destroy_process_group(group)


def case_a_callback_that_would_wait_for_itself(rank: int, world_size: int) -> None:
    """An operation that begins when a callback has returned cannot be waited for there: an error, and no hang."""
    if dist.get_backend() != "mpi":
        return
    program = threading.get_ident()
    for how in ("work", "future"):
        behind: list[dist.Work] = []

        def wait_for_it(future, how=how, behind=behind):
            if threading.get_ident() == program:
                return "was complete when the callback was attached"
            while not behind:
                time.sleep(0.001)
            return behind[0].wait() if how == "work" else behind[0].get_future().wait()

        impossible = sum_in_flight(1).get_future().then(wait_for_it)
        behind.append(sum_in_flight(2))
        try:
            assert impossible.wait() == "was complete when the callback was attached"
        except RuntimeError as error:
            assert "begins only when it has returned: all_reduce, float32[1]" in str(error)
        assert behind[0].wait() and behind[0].result()[0].item() == 2 * world_size
    group = dist.new_group()
    total = dist.all_reduce(torch.ones(1 << 20), group=group, async_op=True)
    ending = total.get_future().then(lambda future: dist.destroy_process_group(group))
    try:
        ending.wait()  # in the program, should all have been complete
    except RuntimeError as error:
        assert "a callback of a group's future cannot end the group" in str(error)
        dist.destroy_process_group(group)


def case_an_error_in_a_callback_stays_there(rank: int, world_size: int) -> None:
    """It comes to whoever waits for the callback's future; the group goes on."""
    if dist.get_backend() != "mpi":
        return

    def fail(future):
        raise KeyError("no such key")

    tensor = torch.ones(1)
    kept, work = weakref.ref(tensor), dist.all_reduce(tensor, async_op=True)
    failed = work.get_future().then(fail)
    chained = failed.then(lambda future: future.value())
    assert work.wait() and work.is_success()
    for future in (failed, chained):
        try:
            future.wait()
        except KeyError as error:
            assert "no such key" in str(error)
        else:
            raise AssertionError("a callback's error was lost")
    del tensor, work, failed, chained, future
    assert kept() is None, "the error keeps what it was about"
    assert sum_in_flight(1).get_future().wait()[0].item() == world_size


def case_a_callback_and_the_program_race_in_another_group(rank: int, world_size: int) -> None:
    """No rank adds what another rank's callback sends to what its own program sends: all get an error."""
    if dist.get_backend() != "mpi":
        return
    other, first = dist.new_group(), rank == 0

    def callback(future):
        time.sleep(0 if first else 0.1)
        return sum_in_flight(1, other).get_future().wait()

    race = sum_in_flight(1).get_future().then(callback)
    time.sleep(0.05)
    for wait in (sum_in_flight(1, other).wait, race.wait):
        try:
            wait()
        except RuntimeError as error:
            assert "SUM of 1 float32 in a callback, at" in str(error) and "SUM of 1 float32, at" in str(error)
        else:
            raise AssertionError("a value went astray")
    dist.destroy_process_group(other)


def case_a_failed_callback_of_a_hook(rank: int, world_size: int) -> None:
    """An error of the backward pass, which says what it was and where."""
    if dist.get_backend() != "mpi":
        return

    def fail(future):
        raise ValueError("of the hook's own")

    parallel = nn.parallel.DistributedDataParallel(nn.Linear(2, 2))
    parallel.register_comm_hook(
        None, lambda state, bucket: dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(fail)
    )
    try:
        parallel(torch.ones(1, 2)).sum().backward()
    except RuntimeError as error:
        assert "in fail" in str(error) and "ValueError: of the hook's own" in str(error)
    else:
        raise AssertionError("the error of a hook's callback was lost")


def case_a_callback_gets_the_error(rank: int, world_size: int) -> None:
    if dist.get_backend() != "mpi":
        return
    future = dist.all_reduce(torch.ones(3 + rank), async_op=True).get_future()
    try:
        future.wait()
    except RuntimeError as error:
        assert "the ranks do not agree" in str(error)
    else:
        raise AssertionError("the future of a collective that failed has a value")


def case_profiler_events(rank: int, world_size: int) -> None:
    if world_size != 2:  # it takes seconds to start
        return
    with torch.autograd.profiler.profile(use_kineto=False) as profile:
        dist.all_reduce(torch.ones(2))
        dist.broadcast(torch.ones(2), 0, async_op=True).wait()
        if rank == 0:
            dist.send(torch.ones(2), 1)
        elif rank == 1:
            dist.recv(torch.ones(2), 0)
    prefix = dist.get_backend() + ":"
    events = sorted(
        event.name.removeprefix(prefix) for event in profile.function_events if event.name.startswith(prefix)
    )
    assert events == sorted(["all_reduce", "broadcast", *{0: ["send"], 1: ["recv"]}.get(rank, [])])


# --- groups


def case_groups_within_the_group(rank: int, world_size: int) -> None:
    ends = dist.new_group([0, world_size - 1])
    if rank in (0, world_size - 1):
        tensor = torch.full((3,), rank + 1.0)
        dist.all_reduce(tensor, group=ends)
        assert tensor.tolist() == [world_size + 1] * 3
        dist.broadcast(tensor.fill_(rank), src=world_size - 1, group=ends)
        assert tensor.tolist() == [world_size - 1] * 3
        assert dist.get_rank(ends) == (0 if rank == 0 else 1) and dist.get_world_size(ends) == 2
        if rank == 0:
            dist.recv(tensor, group=ends)
            dist.send(tensor + 1, world_size - 1, group=ends)
        else:
            dist.send(tensor, 0, group=ends)
            assert dist.recv(tensor, group=ends) == 0  # the ranks in a call are global ones
            assert tensor.tolist() == [world_size] * 3
    else:
        assert ends == dist.GroupMember.NON_GROUP_MEMBER
    by_parity = [dist.new_group(list(range(parity, world_size, 2))) for parity in range(2)]
    ones = torch.ones(1)
    dist.all_reduce(ones, group=by_parity[rank % 2])
    assert ones.item() == len(range(rank % 2, world_size, 2))
    for group in (ends, *by_parity):
        dist.destroy_process_group(group)  # (PyTorch names a group after how many there are on this rank)


def case_group_made_by_its_members_only(rank: int, world_size: int) -> None:
    if rank == 0:
        return
    others = dist.new_group(list(range(1, world_size)), use_local_synchronization=True)
    tensor = torch.tensor([rank])
    dist.all_reduce(tensor, group=others)
    assert tensor.item() == expected_sum(world_size)
    assert dist.get_rank(others) == rank - 1
    dist.destroy_process_group(others)


def case_groups_do_not_mix_messages(rank: int, world_size: int) -> None:
    second = dist.new_group()
    if rank == 0:
        dist.isend(torch.tensor([1.0]), 1).wait()
        dist.isend(torch.tensor([2.0]), 1, group=second).wait()
    elif rank == 1:
        first, other = torch.empty(1), torch.empty(1)
        works = [dist.irecv(other, 0, group=second), dist.irecv(first, 0)]
        for work in works:
            work.wait()
        assert (first.item(), other.item()) == (1.0, 2.0)
    dist.barrier()
    dist.destroy_process_group(second)


# --- training


def case_ddp(rank: int, world_size: int) -> list[float]:
    """20 steps in float64; every rank starts from other weights, so the broadcast at the start counts. Returns the
    parameters.
    """
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(0)
    inputs, targets = torch.randn(60, 8, dtype=torch.float64), torch.randn(60, 3, dtype=torch.float64)
    torch.manual_seed(1 + rank)
    model = nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)
    )
    model.double()
    model[3].bias.requires_grad_(False)
    parallel = DistributedDataParallel(model, bucket_cap_mb=0.001)  # several buckets
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05, momentum=0.9)
    for step in range(20):
        batch = torch.arange(12) + 12 * (step % 5)
        mine = batch[rank::world_size]
        optimizer.zero_grad()
        nn.functional.mse_loss(parallel(inputs[mine]), targets[mine]).backward()
        optimizer.step()
    parameters = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
    highest, lowest = parameters.clone(), parameters.clone()
    dist.all_reduce(highest, dist.ReduceOp.MAX)
    dist.all_reduce(lowest, dist.ReduceOp.MIN)
    assert torch.equal(highest, lowest), "ranks drifted apart"
    return parameters.tolist()


def case_sparse_gradients(rank: int, world_size: int) -> None:
    from torch.nn.parallel import DistributedDataParallel

    parallel = DistributedDataParallel(nn.Embedding(world_size + 2, 3, sparse=True))
    parallel(torch.tensor([rank, rank + 1, 0])).sum().backward()
    counts = torch.zeros(world_size + 2)
    for k in range(world_size):
        for place in (k, k + 1, 0):
            counts[place] += 1 / world_size
    gradient = parallel.module.weight.grad
    assert gradient.is_sparse and torch.allclose(gradient.to_dense(), counts[:, None].expand(-1, 3))


def case_powersgd(rank: int, world_size: int) -> None:
    """A communication hook whose callbacks start collectives and wait for them. One bucket on gloo: with more of them,
    their callbacks call collectives in an order that may differ between ranks.
    """
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(30, 30) for _ in range(6)))
    parallel = DistributedDataParallel(model, bucket_cap_mb=25 if dist.get_backend() == "gloo" else 0.003)
    state = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=1, start_powerSGD_iter=2, min_compression_rate=1
    )
    parallel.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    for step in range(8):
        parallel.zero_grad()
        parallel(torch.full((2, 30), float(rank + step))).square().sum().backward()
    gradient = parallel.module[0].weight.grad
    highest, lowest = gradient.clone(), gradient.clone()
    dist.all_reduce(highest, dist.ReduceOp.MAX)
    dist.all_reduce(lowest, dist.ReduceOp.MIN)
    assert torch.equal(highest, lowest) and gradient.abs().sum() > 0


def case_compiled_ddp(rank: int, world_size: int) -> None:
    """The buffers of BatchNorm are broadcast from within what is compiled."""
    if world_size != 2:  # the compiler takes seconds to import
        return
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
    reference = DistributedDataParallel(copy.deepcopy(model))
    parallel = DistributedDataParallel(model)
    compiled = torch.compile(parallel, backend="eager")
    for step in range(2):
        inputs = torch.arange(8.0).view(2, 4) * (rank + 1) + step
        compiled(inputs).square().sum().backward()
        reference(inputs).square().sum().backward()
    assert torch.allclose(model[0].weight.grad, reference.module[0].weight.grad)


def case_asynchronous_checkpoint(rank: int, world_size: int) -> None:
    if world_size != 2:
        return
    import torch.distributed.checkpoint as checkpoint

    with tempfile.TemporaryDirectory() as folder:
        place = [folder]
        dist.broadcast_object_list(place, src=0)
        state = {"values": torch.arange(4.0)}
        checkpoint.async_save(state, checkpoint_id=place[0]).result()
        found = {"values": torch.zeros(4)}
        checkpoint.load(found, checkpoint_id=place[0])
        assert torch.equal(found["values"], state["values"])
        dist.barrier()


def case_functional_collectives(rank: int, world_size: int) -> None:
    from torch.distributed import _functional_collectives as functional

    total = functional.all_reduce(torch.full((3,), float(rank)), "sum", dist.group.WORLD)
    assert (total + 0).tolist() == [expected_sum(world_size)] * 3
    gathered = functional.all_gather_single(torch.full((2,), float(rank)), 0, dist.group.WORLD)
    assert (gathered + 0).tolist() == [k for k in range(world_size) for _ in range(2)]


def case_fsdp2(rank: int, world_size: int) -> None:
    """Four steps of fully_shard are four steps of the same model on all data."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(3)
    # 13 rows divide by none of the world sizes.
    reference = nn.Sequential(nn.Linear(10, 13), nn.ReLU(), nn.Linear(13, 5)).double()
    model = copy.deepcopy(reference)
    mesh = init_device_mesh("cpu", (world_size,))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, reference)]
    for _ in range(4):
        data = torch.randn(6 * world_size, 10, dtype=torch.float64)
        for each, optimizer, batch in (
            (model, optimizers[0], data[6 * rank : 6 * rank + 6]),
            (reference, optimizers[1], data),
        ):
            optimizer.zero_grad()
            each(batch).square().mean().backward()
            optimizer.step()
    for sharded, whole in zip(model.parameters(), reference.parameters(), strict=True):
        assert (sharded.full_tensor() - whole).abs().max() < 1e-12


def case_tensor_parallel(rank: int, world_size: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(3)
    reference = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4)).double()
    model = copy.deepcopy(reference)
    parallelize_module(model, init_device_mesh("cpu", (world_size,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    data = torch.randn(5, 6, dtype=torch.float64)
    assert torch.allclose(model(data), reference(data), atol=1e-12)
    model(data).square().mean().backward()
    reference(data).square().mean().backward()
    assert torch.allclose(model[0].weight.grad.full_tensor(), reference[0].weight.grad, atol=1e-12)


# --- running them


def run_cases(functions: dict[str, Callable[[int, int], object]], rank: int, world_size: int) -> dict[str, dict]:
    """Each case's result on this rank, by name: {"value": ...} or {"error": traceback}. Stops at the first that fails.

    A rank that has failed is out of step with the others, so nothing that came after would mean anything.
    """
    results: dict[str, dict] = {}
    for name, function in functions.items():
        try:
            results[name] = {"value": function(rank, world_size)}
            dist.barrier()
        except BaseException:
            results[name] = {"error": traceback.format_exc()}
            break
    return results


def run_rank(backend: str, folder: Path) -> None:
    """All cases on this rank of the default group; leaves FOLDER/WORLD_SIZE-RANK.json."""
    torch.set_num_threads(1)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    results = run_cases(cases(backend), rank, world_size)
    (folder / f"{world_size}-{rank}.json").write_text(json.dumps(results))
    if any("error" in result for result in results.values()):
        raise SystemExit(1)


def fork_gloo_ranks(folder: Path, world_size: int) -> None:
    """Run all cases on gloo, in `world_size` children of this process that meet in a file and talk over loopback."""
    children = []
    for rank in range(world_size):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                store = dist.FileStore(str(folder / f"store-{world_size}"), world_size)
                dist.init_process_group("gloo", store=store, rank=rank, world_size=world_size, timeout=TIMEOUT)
                run_rank("gloo", folder)
                dist.destroy_process_group()
                status = 0
            except SystemExit:
                pass
            finally:
                os._exit(status)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def main(backend: str, folder: str, world_sizes: Iterable[str]) -> None:
    if backend == "mpi":
        dist.init_process_group("mpi", timeout=TIMEOUT)
        run_rank("mpi", Path(folder))
        dist.destroy_process_group()
        return
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    for module in ("torch._dynamo", "torch.distributed.fsdp", "torch.distributed.tensor.parallel"):
        importlib.import_module(module)  # seconds: once instead of once per rank

    torch.set_num_threads(1)
    for world_size in world_sizes:
        fork_gloo_ranks(Path(folder), int(world_size))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
