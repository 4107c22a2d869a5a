"""The relay and the warm launcher: values, exact counts, virtual time, verdicts, and what a hostile rank can send."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import re
import signal
import socket
import struct
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import relay_programs as programs
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.cells.notebook import chunks_of
from labkit.interconnect.collectives import COLLECTIVES
from labkit.launch import process as launch_process
from labkit.launch.launcher import Launcher, Limits, make_jobs, shared
from labkit.launch.rank_set import RankSet
from labkit.relay import matcher, network, wire
from labkit.relay.arithmetic import reduce_bytes
from labkit.relay.network import Relay
from labkit.relay.wire import Tensor
from labkit.simulation import run as simulate

pytestmark = pytest.mark.usefixtures("warm")


def values(outcome):
    return [rank.value.values if isinstance(rank.value, Tensor) else rank.value for rank in outcome.ranks]


def test_every_collective_of_the_table_is_exchanged_and_none_beside_it():
    assert set(matcher.EXCHANGES) == set(COLLECTIVES)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
def test_a_ring_sums_and_is_counted(ranks):
    n = 7
    inputs = [np.arange(n, dtype=np.float64) * (r + 1) for r in range(ranks)]
    outcome = simulate(
        programs.ring_all_reduce, ranks, [(Tensor(x, "float64"),) for x in inputs], alpha=1e-6, beta=1e-9
    )
    for value in values(outcome):
        np.testing.assert_array_equal(value, sum(inputs))
    assert [rank.sends for rank in outcome.ranks] == [2 * (ranks - 1)] * ranks
    chunk_bytes = [8 * len(c) for c in np.array_split(np.arange(n), ranks)]
    assert sum(rank.sent_bytes for rank in outcome.ranks) == 2 * (ranks - 1) * sum(chunk_bytes)
    # every step is as long as its largest chunk: 2 (p - 1) of them
    assert outcome.elapsed == pytest.approx(2 * (ranks - 1) * (1e-6 + max(chunk_bytes) * 1e-9), rel=1e-9)
    assert outcome.hang is None


def test_messages_through_one_port_queue_up():
    ranks, n = 5, 1000
    outcome = simulate(programs.server_sum, ranks, (Tensor(np.ones(n), "float32"),), alpha=2e-6, beta=1e-9)
    assert outcome.elapsed == pytest.approx((ranks - 1) * (2e-6 + 4 * n * 1e-9), rel=1e-9)
    assert outcome.ranks[0].received_bytes == (ranks - 1) * 4 * n
    times = [(e.rank, e.started, e.ended) for e in outcome.events if e.kind == "recv"]
    assert all(ended <= next_started for (_, _, ended), (_, next_started, _) in zip(times, times[1:], strict=False))


def test_64_ranks_on_a_ring():
    outcome = simulate(programs.ring_all_reduce, 64, (Tensor(np.ones(64), "float32"),), alpha=1e-6, beta=0.0)
    assert outcome.elapsed == pytest.approx(126e-6)
    np.testing.assert_array_equal(values(outcome)[63], np.full(64, 64.0))


@pytest.mark.parametrize(
    ("program", "ranks", "kind"),
    [
        ("receive_first", 2, "deadlock"),
        ("receive_first", 5, "deadlock"),
        ("send_first", 2, "unsafe_send"),
        ("send_first", 3, "unsafe_send"),
        ("rank_0_only", 3, "missing_rank"),
        ("different_collectives", 4, "mismatched_collective"),
        ("different_reductions", 2, "mismatched_collective"),
        ("different_roots", 2, "mismatched_collective"),
        ("different_shapes", 3, "mismatched_shape"),
        ("different_dtypes", 2, "mismatched_dtype"),
        ("room_too_small", 3, "mismatched_shape"),
        ("other_dtype_received", 2, "mismatched_dtype"),
        ("different_tags", 2, "mismatched_tag"),
        ("groups_made_by_members", 4, "partial_group"),
        ("groups_made_in_another_order", 4, "partial_group"),
        ("a_group_made_once_more", 3, "partial_group"),
        ("partner_returns", 3, "returned_early"),
        ("nobody_left_to_send", 3, "returned_early"),
        ("polls_for_ever", 2, "endless_poll"),
    ],
)
def test_a_hang_is_named(program, ranks, kind):
    outcome = simulate(getattr(programs, program), ranks)
    assert outcome.hang is not None and outcome.hang.kind == kind
    assert len(outcome.hang.rows) == ranks
    waiting = [row for row in outcome.hang.rows if "line" in row]
    assert waiting and all("relay_programs.py, line" in row for row in waiting)


def test_a_message_that_does_not_lie_in_one_piece_is_refused_as_gloo_refuses_it():
    outcome = simulate(programs.messages_in_pieces, 2)
    assert values(outcome) == [["input tensor has to be contiguous"] * 8] * 2


def test_who_waits_for_whom_and_where():
    rows = simulate(programs.receive_first, 3).hang.rows
    line = next(k for k, text in enumerate(open(programs.__file__), 1) if "dist.recv(x, left)" in text)
    assert rows[0] == f"rank 0  recv from 2, float32[3]   relay_programs.py, line {line}"


def test_a_rank_that_raises_ends_the_wait_of_the_others():
    chunks = chunks_of(programs.raises)
    outcome, _ = shared().run(make_jobs(chunks, "raises", [()] * 3))
    assert [rank.state for rank in outcome.ranks] == ["waiting", "raised", "waiting"]
    assert outcome.ranks[1].error["type"] == "ValueError" and "raise ValueError" in outcome.ranks[1].error["rows"][-1]
    assert outcome.hang.kind == "raised"


def test_messages_of_one_sender_arrive_in_their_order():
    """Also where all of them are there before the first is asked for."""
    assert values(simulate(programs.three_in_a_row, 2))[0] == [0, 1, 2]


def test_any_source_is_decided_by_the_seed_alone():
    jobs = make_jobs(chunks_of(programs.any_source), "any_source", [()] * 4)
    orders = {seed: [shared().run(jobs, seed=seed)[0].ranks[0].value for _ in range(2)] for seed in range(6)}
    for first, second in orders.values():
        assert first == second
        assert sorted(first) == [(1, 1), (2, 2), (3, 3)]
    assert len({tuple(map(tuple, first)) for first, _ in orders.values()}) > 1


def test_polling_completes_and_asynchronous_collectives_do_not_block():
    assert [list(v) for v in values(simulate(programs.polls_until_done, 3))] == [[2.0] * 4, [0.0] * 4, [1.0] * 4]
    assert [list(v) for v in values(simulate(programs.asynchronous_all_reduce, 4))] == [[4.0, 4.0]] * 4


def test_what_cannot_be_done_is_told_to_the_rank():
    with pytest.raises(RuntimeError, match="the reduction band does not work on float32"):
        simulate(programs.bits_of_floats, 2)


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("wrong_number_of_boxes", "all_gather was given a list of 4 tensors, but the group has 3 ranks: one for each"),
        ("does_not_divide", "10 elements for 3 equal parts, and 10 does not divide by 3"),
        ("a_part_too_long", "6 elements in all and 3 for one rank: of 3 ranks, all have 3 times as many as one"),
        ("splits_that_do_not_add_up", r"input splits \[1, 2, 2\] for 3 ranks"),
        ("a_tag_too_large", "is too large: a tag is a small number"),
        ("imports_mpi", "mpi4py knows nothing of them"),
    ],
)
def test_a_call_that_cannot_work_is_named_where_it_stands(program, sentence):
    with pytest.raises(RuntimeError, match=sentence):
        simulate(getattr(programs, program), 3)


@pytest.mark.parametrize("name", ["sends_without_end", "collectives_without_end"])
def test_a_rank_that_asks_for_too_much_has_not_broken_the_connection(name):
    outcome, _ = shared().run(make_jobs(chunks_of(getattr(programs, name)), name, [()] * 3))
    assert {rank.error["type"] for rank in outcome.ranks[:2]} == {"too_much"}
    assert "more than 2000 operations at a time" in outcome.ranks[0].error["text"]


def test_two_threads_of_a_rank_are_told_to_take_turns():
    from labkit.relay.connection import Connection

    mine, theirs = socket.socketpair()
    with mine, theirs:
        connection = Connection(mine)
        with connection._alone():
            with pytest.raises(RuntimeError, match="two threads of this rank"):
                connection.post({"op": "barrier", "group": "0", "members": [0]})
            with pytest.raises(RuntimeError, match="two threads of this rank"):
                connection.ask(wire.WAIT, 1)
        assert connection.post({"op": "barrier", "group": "0", "members": [0]}) == 1


def test_an_exception_without_words_is_an_exception():
    outcome, _ = shared().run(make_jobs(chunks_of(programs.raises_unspeakable), "raises_unspeakable", [()]))
    assert outcome.ranks[0].error["type"] == "Unspeakable" and outcome.ranks[0].error["text"] == ""


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("reuses_buffer", "ReusedBuffer: the tensor given to isend was changed"),
        ("changes_a_slice_of_what_is_being_sent", "ReusedBuffer: the tensor given to isend was changed"),
        ("changes_what_a_collective_sends", "ReusedBuffer: the tensor given to all_gather was changed"),
        ("changes_what_the_root_sends", "ReusedBuffer: the tensor given to broadcast was changed"),
        ("receives_into_what_is_being_sent", "ReusedBuffer: a receive was opened into a tensor"),
        ("two_receives_into_one_tensor", "UsedBeforeWait: a tensor was used again while the irecv"),
        ("sends_what_is_still_to_come", "UsedBeforeWait: a tensor was used again while the irecv"),
        ("hands_a_collective_what_is_still_to_come", "UsedBeforeWait: a tensor was used again while the irecv"),
        ("throws_the_request_away", "NeverWaited: a tensor was used again while the isend"),
        ("divides_before_wait", "UsedBeforeWait: a tensor was written to while the all_reduce"),
        ("clears_an_open_receive", "UsedBeforeWait: a tensor was written to while the irecv"),
    ],
)
def test_memory_that_belongs_to_an_open_operation_is_watched(program, error):
    with pytest.raises(RuntimeError, match=error):
        simulate(getattr(programs, program), 3)


def test_memory_that_two_operations_do_not_share_is_nobodys_business():
    """And every way of waiting is as good as any other."""
    table, left, whole, mean, total = zip(
        *(rank.value for rank in simulate(programs.waits_in_many_ways, 3).ranks), strict=True
    )
    assert all(np.array_equal(t.values, [[r] * 3 for r in range(3)]) for t in table)
    assert [list(v.values) for v in left] == [[2, 2], [0, 0], [1, 1]]
    assert [list(v.values) for v in (*whole, *mean, *total)] == [[0, 1, 2]] * 3 + [[1, 1]] * 3 + [[3, 3]] * 3


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int64", "uint8", "complex64"])
def test_an_open_receive_holds_what_nobody_can_use(dtype):
    """Neither what was there before nor what will come: something else on every rank and in every run."""
    arguments = [(Tensor(np.full(50, r + 1), dtype),) for r in range(2)]
    seen = []
    for poison in (1, 2):
        jobs = make_jobs(chunks_of(programs.looks_before_wait), "looks_before_wait", arguments, poison=poison)
        for r, rank in enumerate(shared().run(jobs)[0].ranks):
            before, after = (value.values for value in rank.value)
            assert np.array_equal(after, np.full(50, 2 - r))
            assert np.mean(np.isin(before, (7, 2 - r))) < 0.1 and np.isfinite(before).all()
            seen.append(before)
    assert all(np.mean(a == b) < 0.1 for k, a in enumerate(seen) for b in seen[:k])


def test_a_receive_nobody_waited_for_never_arrives():
    outcome = simulate(programs.never_waits, 3)
    assert not set(np.ravel(values(outcome))) & {-1.0, 1.0}
    assert [rank.unwaited for rank in outcome.ranks] == [2, 2, 2]


def test_asking_once_is_not_waiting():
    outcome = simulate(programs.asks_once_and_goes, 2, (Tensor(np.ones(2)),))
    assert [(rank.unwaited, rank.deferred) for rank in outcome.ranks] == [(1, 1), (1, 1)]
    assert [rank.deferred for rank in simulate(programs.ring_all_reduce, 2, (Tensor(np.ones(2)),)).ranks] == [2, 2]
    assert [rank.deferred for rank in simulate(programs.reduces, 2, (Tensor(np.ones(2)), "SUM")).ranks] == [0, 0]


def test_printed_lines_keep_their_causal_order():
    for _ in range(3):
        printed = simulate(programs.says_in_turn, 4).printed
        assert printed == [(r, f"{word} {r}") for r in range(4) for word in ("rank", "again")]
    # nothing orders these lines: whoever relies on luck must not be lucky
    assert simulate(programs.says_rank, 4, late=(0,)).printed[-1] == (0, "I am rank 0")


def test_ranks_are_seeded_differently_and_repeatably():
    first, second = (values(simulate(programs.random_numbers, 3)) for _ in range(2))
    assert first == second and len({v[0] for v in first}) == 3


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool"])
def test_reductions_agree_with_numpy(dtype):
    x = np.array([[1, 0, 1, 3], [1, 0, 0, 2], [0, 0, 1, 5]])
    x = x.astype(bool) if dtype == "bool" else x
    got = values(simulate(programs.reduces, 3, [(Tensor(row, dtype), "SUM") for row in x]))
    want = x.any(axis=0) if dtype == "bool" else x.sum(axis=0)
    assert all(np.array_equal(g, want) for g in got)


def test_bfloat16_on_the_wire_is_torchs_own():
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=1000).astype(np.float32) * np.logspace(-30, 30, 1000, dtype=np.float32)
    theirs = torch.from_numpy(x).to(torch.bfloat16).view(torch.int16).numpy().tobytes()
    assert wire.to_bytes(x, "bfloat16") == theirs
    np.testing.assert_array_equal(
        wire.from_bytes(theirs, "bfloat16"), torch.from_numpy(x).to(torch.bfloat16).float().numpy()
    )
    assert reduce_bytes([theirs, theirs], "bfloat16", "max") == theirs


# -- limits and ends -------------------------------------------------------------------------------


def run_limited(name: str, ranks: int = 1, **limits):
    return shared().run(make_jobs(chunks_of(getattr(programs, name)), name, [()] * ranks), limits=Limits(**limits))


def test_processor_time_is_limited():
    outcome, ends = run_limited("runs_for_ever", cpu_seconds=1)
    assert outcome.ranks[0].state == "dead" and ends[0]["signal"] == signal.SIGXCPU


def test_the_deadline_ends_a_case():
    outcome, ends = run_limited("runs_for_ever", 2, deadline=0.5)
    assert outcome.too_slow and [end["signal"] for end in ends] == [signal.SIGKILL] * 2


def test_memory_is_limited():
    outcome, _ = run_limited("eats_memory", memory_bytes=1 << 30)
    assert outcome.ranks[0].error["type"] == "out_of_memory"


def test_a_simulation_whose_ranks_met_a_limit_raises_and_names_it(monkeypatch):
    """No part of a program may pass for the whole: here the ranks end after some of 200 all-reduces."""
    monkeypatch.setattr(network, "MAX_BYTES", 1 << 20)
    for _ in range(20):
        with pytest.raises(RuntimeError, match=r"ended before its function did .*more than 1 MB of messages"):
            simulate(programs.sums_without_end, 4)


@pytest.mark.parametrize(
    "how, said",
    [
        ("killed", "SIGKILL"),
        ("left", "status 3"),
        ("aborted", "SIGABRT, after saying: .*what\\(\\): .*no such thread pool"),
    ],
)
def test_a_simulation_says_how_a_rank_died_and_who_waited(how, said):
    with pytest.raises(RuntimeError, match=f"rank 1 ended before its function did: .*{said}\n  rank 0  barrier.*line"):
        simulate(programs.one_leaves, 3, (how,))


def test_a_simulation_that_is_too_slow_raises(monkeypatch):
    monkeypatch.setattr("labkit.launch.launcher.Limits", functools.partial(Limits, patience=0.5))
    with pytest.raises(RuntimeError, match="too slow: .* ranks 0, 1 had not returned"):
        simulate(programs.runs_for_ever, 2)


def test_nothing_outlives_its_launcher():
    with Launcher() as launcher:
        launcher.wait_until_ready()
        case = launcher.case(3, Limits())
        process, deadline = psutil.Process(launcher.pid), time.monotonic() + 60
        while len(family := process.children(recursive=True)) < 4:  # a leader and its ranks: nobody comes later
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
        gone, alive = psutil.wait_procs(family, timeout=60)  # before the launcher's folder goes: they may write there
        assert not alive
    case.end()


def test_a_launcher_that_was_killed_is_replaced():
    with Launcher() as launcher:
        launcher.wait_until_ready()
        os.kill(launcher.pid, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(launcher.pid)], timeout=10)
        outcome, _ = launcher.run(make_jobs(chunks_of(programs.says_rank), "says_rank", [()] * 2))
    assert sorted(outcome.printed) == [(0, "I am rank 0"), (1, "I am rank 1")]


# -- what a rank may send --------------------------------------------------------------------------

frames = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda kind, meta, payload: wire.pack(kind, meta, payload),
        st.integers(0, 30),
        st.dictionaries(
            st.sampled_from(
                [
                    "op",
                    "group",
                    "members",
                    "peer",
                    "tag",
                    "dtype",
                    "shape",
                    "ticket",
                    "sizes",
                    "value",
                    "text",
                    "root",
                    "type",
                ]
            ),
            st.recursive(
                st.one_of(
                    st.none(),
                    st.booleans(),
                    st.integers(-5, 5),
                    st.floats(),
                    st.text(max_size=5),
                    st.sampled_from(["a", "t", "l", "all_reduce", "send", "float32"]),
                ),
                lambda inner: st.lists(inner, max_size=4),
                max_leaves=6,
            ),
        ),
        st.binary(max_size=40),
    ),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(frames, max_size=5))
def test_the_relay_survives_whatever_a_rank_sends(messages):
    mine, theirs = socket.socketpair()
    other, honest = socket.socketpair()
    with mine, theirs, other, honest:
        for message in messages:
            theirs.sendall(message)
        theirs.shutdown(socket.SHUT_WR)
        tagged, payload = wire.encode([1, ()])
        wire.send(honest, wire.RESULT, {"value": tagged}, payload)
        honest.shutdown(socket.SHUT_WR)
        outcome = Relay([mine, other], [({}, b""), ({}, b"")], deadline=20).run()
    assert (outcome.ranks[1].state, outcome.ranks[1].value) == ("returned", 1), "the honest neighbour is not disturbed"
    assert outcome.ranks[0].state != "running"
    assert not outcome.too_slow


@pytest.mark.parametrize("bad", [{"root": 7}, {"ticket": float("inf")}, {"shape": [float("inf")]}])
def test_a_made_up_operation_is_the_end_of_its_rank_alone(bad):
    broadcast = {
        "op": "broadcast",
        "group": "world",
        "members": [0],
        "ticket": 1,
        "root": 0,
        "dtype": "float32",
        "shape": [1],
    }
    mine, theirs = socket.socketpair()
    with mine, theirs:
        wire.send(theirs, wire.POST, {**broadcast, **bad}, bytes(4))
        outcome = Relay([mine], [({}, b"")], deadline=20).run()
    assert outcome.ranks[0].state == "dead" and outcome.ranks[0].error["type"] == "protocol"


@pytest.mark.timeout(45)  # 20 s for each of them would be a minute
def test_ranks_that_do_not_read_share_the_seconds_of_the_case():
    """And none of them gets more, however many there are."""
    pairs = [socket.socketpair() for _ in range(3)]
    question, payload = wire.encode(0)
    with contextlib.ExitStack() as stack:
        for mine, theirs in pairs:
            stack.enter_context(mine), stack.enter_context(theirs)
            wire.send(theirs, wire.ASK, {"to": "much", "question": question}, payload)
        much = {"much": lambda question: (0.0, "", np.zeros(1 << 20))}
        outcome = Relay([mine for mine, _ in pairs], [({}, b"")] * 3, deadline=0.5, answers=much).run()
    assert outcome.too_slow and {rank.state for rank in outcome.ranks} <= {"running", "dead"}


def test_an_oversized_record_is_refused_before_it_is_read():
    mine, theirs = socket.socketpair()
    with mine, theirs:
        theirs.sendall(struct.pack("<4sBIQ", b"LKR1", wire.RESULT, 10, 1 << 50))
        outcome = Relay([mine], [({}, b"")], deadline=20).run()
    assert outcome.ranks[0].state == "dead" and "larger than allowed" in outcome.ranks[0].error["text"]


def test_what_is_too_large_to_travel_is_refused_at_once():
    itself = []
    itself += [itself, itself]  # 2^32 lists, to whoever walks through it
    reserved = np.broadcast_to(np.float64(1), (1 << 40,))  # one number in memory
    for value in (itself, [0] * 2_000_000, reserved):
        with pytest.raises(wire.WireError, match="of more than"):
            wire.encode(value)


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20)),
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
        max_leaves=12,
    )
)
def test_plain_data_survives_the_wire(value):
    tagged, payload = wire.encode(value)
    assert wire.decode(json.loads(json.dumps(tagged)), payload) == value


@pytest.mark.parametrize("dtype", [*wire.SCALARS, "int64", "float64"])
def test_a_number_of_numpys_keeps_its_type(dtype):
    """Python's int and float stand for the widest ones; a key is a number of Python's in any case."""
    number = np.dtype(dtype).type(3)
    tagged, payload = wire.encode([number, {number: (number,)}])
    first, second = wire.decode(json.loads(json.dumps(tagged)), payload)
    kept = np.dtype(dtype).type if dtype in wire.SCALARS else type(number.item())
    assert (type(first), type(second[3][0])) == (kept, kept)
    assert first == 3 and [type(key) for key in second] == [type(number.item())]


@pytest.mark.parametrize("value", [["float32", "1"], ["float64", 1.0], ["int8", 300], ["int32", math.nan], ["int8"]])
def test_a_made_up_number_of_numpys_is_refused(value):
    with pytest.raises(wire.WireError):
        wire.decode(["g", *value], b"")


@pytest.mark.parametrize("value", [[1, "2"], [2**60], [1, 2.0], [1, True], [], {"1": 1}, "12", None])
def test_a_made_up_list_of_plain_numbers_is_refused(value):
    with pytest.raises(wire.WireError):
        wire.decode(["k", value], b"")


@pytest.mark.parametrize("number", [math.nan, math.inf, 1e300, 0.1])
def test_any_float_fits_into_a_number_of_numpys(number):
    with np.errstate(over="ignore"):
        single = np.float32(number)
    found = wire.decode(json.loads(json.dumps(wire.encode(single)[0])), b"")
    assert type(found) is np.float32 and np.array_equal(found, single, equal_nan=True)


def test_huge_pages_hold_what_the_small_ones_held():
    """Where the operating system offers them on demand; elsewhere nothing happens."""
    offered = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    release = tuple(int(part) for part in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())
    data = np.arange(8 << 20)  # 64 MB
    moved = launch_process.use_huge_pages()
    assert np.array_equal(data, np.arange(8 << 20)) and moved % (2 << 20) == 0
    if release >= (6, 1) and offered.exists() and "[never]" not in offered.read_text():
        rollup = Path("/proc/self/smaps_rollup").read_text()
        assert moved and int(re.search(r"AnonHugePages: +(\d+) kB", rollup)[1]) > 0


def test_notebooks_released_earlier_find_the_simulation():
    from labkit import relay

    assert relay.simulate is simulate
    with pytest.raises(AttributeError, match="simulated"):
        relay.simulated  # noqa: B018


def test_rows_of_a_buffer_are_received_while_others_are_in_a_graph():
    outcome = simulate(programs.rows_of_one_buffer, 2)
    assert outcome.ranks[1].value == [2.0] * 3


def test_events_say_what_was_handed_over_where_it_is_asked_for():
    jobs = make_jobs(chunks_of(programs.zeros_and_others), "zeros_and_others", [()] * 2)
    ranks = RankSet(shared(), 2, Limits())
    told, silent = (ranks.run(jobs, **how)[0].events for how in ({"describe_payloads": True}, {}))
    ranks.close()
    assert [event.varied for event in told if event.rank == 0] == pytest.approx([1 / 100, 1.0, 1.0])
    assert [event.squares for event in told if event.rank == 0] == [0.0, sum(k * k for k in range(100)), None]
    assert {event.varied for event in silent} == {None}


def test_what_is_altered_arrives_in_place_of_what_was_handed_over():
    jobs = make_jobs(chunks_of(programs.sum_of_numbers), "sum_of_numbers", [()] * 2)
    ranks = RankSet(shared(), 2, Limits())

    class Altering:
        def handed(self, op):
            return (np.frombuffer(op.payload) * (10 if op.rank == 1 else 1)).tobytes()

        def arrives(self, ops):
            for op in ops:
                op.data = (np.frombuffer(op.data) + 0.5).tobytes()

    plain, altered = (ranks.run(jobs, altered=how)[0].ranks for how in (None, Altering()))
    ranks.close()
    assert [rank.value for rank in plain] == [[3.0] * 3] * 2
    assert [rank.value for rank in altered] == [[21.5] * 3] * 2
