"""The flight recorder: what it tells of a rank that still runs, of one that was killed, and how events are matched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from labkit.watch import recorder
from labkit.watch.hang import explain


@pytest.fixture
def flight(tmp_path):
    """A folder; whatever the test recorded in this process is closed."""
    yield tmp_path
    recorder.close()


def as_rank(folder, rank, world_size=2):
    """This process records as another rank from now on."""
    recorder.open(folder, rank, world_size)
    recorder.mark("running")


def test_a_closed_recorder_costs_nothing_and_says_nothing():
    assert recorder.begin("send", peer=1) == 0
    recorder.end(0)
    recorder.mark("running")
    assert not recorder.is_open()


def test_an_open_operation_is_what_the_rank_waits_in(flight):
    as_rank(flight, 1)
    recorder.end(recorder.begin("all_reduce", nbytes=8, dtype="float64", shape=(1,)))
    recorder.begin("recv", peer=0, tag=7, nbytes=48, dtype="float32", shape=(3, 4))
    (state,) = recorder.states(flight)
    assert (state.rank, state.state, state.kind, state.peer, state.tag) == (1, "waiting", "recv", 0, 7)
    assert (state.nbytes, state.dtype, state.shape, state.group, state.operations) == (48, "float32", (3, 4), None, 1)
    assert state.line.startswith("test_recorder.py, line ")


def test_a_completed_operation_is_not_waited_for_and_the_marks_show(flight):
    as_rank(flight, 0)
    recorder.end(recorder.begin("send", peer=1))
    assert recorder.states(flight)[0].state == "running"
    recorder.mark("raised", "ValueError: ü" + "x" * 1000, "cell 3, line 4")
    (state,) = recorder.states(flight)
    assert (state.state, state.line) == ("raised", "cell 3, line 4")
    assert state.detail.startswith("ValueError: üx")
    recorder.mark("returned")
    assert recorder.states(flight)[0].state == "returned"
    assert recorder.states(flight, dead={0: "SIGKILL"})[0] == recorder.states(flight, {0: "SIGKILL"})[0]
    assert recorder.states(flight, {0: "SIGKILL"})[0].detail == "SIGKILL"


def test_a_copy_for_another_node_s_clock(flight):
    """The same recording, an hour and a half later; with the line where the rank stands only if it computes."""
    as_rank(flight, 0, world_size=1)
    recorder.end(recorder.begin("barrier"))
    recorder.polled("Test", peer=0)
    there = flight / "there"
    there.mkdir()
    (there / "rank0.flight").write_bytes(recorder.copy(5400.0, "cell 2, line 9"))
    assert recorder.began(there)[0] - recorder.began(flight)[0] == pytest.approx(5400)
    here, far = recorder.events(flight)[0], recorder.events(there)[0]
    assert (far.posted, far.ended) == pytest.approx((here.posted, here.ended), abs=1e-6)
    (there / "rank0.flight").write_bytes(recorder.copy(-5400.0, "cell 2, line 9"))  # the poll is long ago
    assert (recorder.states(there)[0].state, recorder.states(there)[0].line) == ("running", "cell 2, line 9")
    recorder.mark("returned")
    (there / "rank0.flight").write_bytes(recorder.copy(0.0, "cell 2, line 9"))
    assert (recorder.states(there)[0].state, recorder.states(there)[0].line) == ("returned", "")


def test_a_request_is_waited_for_only_while_its_wait_runs(flight):
    as_rank(flight, 0)
    token = recorder.begin("irecv", peer=1, blocking=False)
    assert recorder.states(flight)[0].state == "running"
    recorder.waiting(token)
    posted, waited = recorder.events(flight)[0].line, recorder.states(flight)[0].line
    assert recorder.states(flight)[0].kind == "irecv"
    assert posted != waited
    recorder.end(token)
    assert recorder.states(flight)[0].state == "running"


def test_a_receive_from_any_source_learns_whom_it_heard(flight):
    as_rank(flight, 0)
    recorder.end(recorder.begin("recv", tag=-1), peer=1, tag=5, nbytes=12)
    (event,) = recorder.events(flight)
    assert (event.peer, event.tag, event.nbytes) == (1, 5, 12)


def test_polling_shows(flight):
    as_rank(flight, 0)
    for _ in range(3):
        recorder.polled("Iprobe", peer=1, tag=4)
    (state,) = recorder.states(flight)
    assert (state.state, state.kind, state.peer, state.detail) == ("running", "Iprobe", 1, "polled 3 times")


def test_the_innermost_line_of_the_program_is_noted_not_the_library_above_it(flight):
    as_rank(flight, 0)
    source = "def helper():\n    return recorder.begin('barrier')\n\nhelper()\n"
    exec(compile(source, "cell 7", "exec"), {"recorder": recorder})
    assert recorder.states(flight)[0].line == "cell 7, line 2"


def test_messages_and_collectives_are_matched(flight):
    as_rank(flight, 0)
    recorder.end(recorder.begin("send", peer=1, tag=1, nbytes=8))
    recorder.end(recorder.begin("Isend", peer=1, tag=1, nbytes=16))
    recorder.end(recorder.begin("all_reduce"))
    recorder.begin("barrier")
    as_rank(flight, 1)
    recorder.end(recorder.begin("irecv", peer=0, tag=1, nbytes=8))
    recorder.end(recorder.begin("recv"), peer=0, tag=1, nbytes=16)
    recorder.end(recorder.begin("all_reduce"))
    found = recorder.events(flight)
    match = {(event.rank, event.kind): event.match for event in found}
    assert match[0, "send"] == match[1, "irecv"] != match[0, "Isend"] == match[1, "recv"]
    assert match[0, "all_reduce"] == match[1, "all_reduce"] is not None
    assert match[0, "barrier"] is None
    barrier = next(event for event in found if event.kind == "barrier")
    assert barrier.started is None and barrier.ended is None
    assert all(event.posted <= event.started <= event.ended for event in found if event.kind != "barrier")
    assert min(event.posted for event in found) >= 0


def test_events_are_those_of_the_last_cell_and_of_the_ranks_that_ran_it(flight):
    as_rank(flight, 0)
    recorder.end(recorder.begin("barrier"))
    as_rank(flight, 1)
    recorder.end(recorder.begin("barrier"))
    recorder.mark("running")
    recorder.end(recorder.begin("broadcast", peer=0))
    assert [event.kind for event in recorder.events(flight, [1])] == ["broadcast"]


def test_more_operations_than_the_ring_holds(flight):
    for rank in (0, 1):
        as_rank(flight, rank)
        for _ in range(recorder.CAPACITY + 50):
            recorder.end(recorder.begin("all_reduce", nbytes=4))
    assert recorder.states(flight)[0].operations == recorder.CAPACITY + 50
    assert {event.rank for event in recorder.events(flight)} <= {0, 1}
    late = recorder.begin("recv", peer=0)
    assert recorder.states(flight)[1].kind == "recv"
    for _ in range(recorder.CAPACITY):
        recorder.end(recorder.begin("send", peer=0))
    recorder.end(late)  # its record is long gone, and another one must not be taken for it
    assert all(event.kind == "send" for event in recorder.events(flight, [1]))


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        ((("all_reduce", 8, "float32"), ("broadcast", 8, "float32")), "mismatched_collective"),
        ((("all_reduce", 8, "float32"), ("all_reduce", 12, "float32")), "mismatched_shape"),
        ((("all_reduce", 8, "float32"), ("all_reduce", 8, "float64")), "mismatched_dtype"),
    ],
)
def test_collectives_that_do_not_fit_are_found_even_if_they_came_through(flight, calls, kind):
    for rank, (name, nbytes, dtype) in enumerate(calls):
        as_rank(flight, rank)
        recorder.end(recorder.begin("barrier"))
        recorder.end(recorder.begin(name, nbytes=nbytes, dtype=dtype, shape=(nbytes // 4,)))
        recorder.mark("returned")
    assert explain(recorder.mismatched(flight)).kind == kind


def test_collectives_that_may_differ_are_left_alone(flight):
    for rank in (0, 1):
        as_rank(flight, rank)
        recorder.end(recorder.begin("gather", peer=0, nbytes=8 * rank))
        recorder.end(recorder.begin("Allgatherv", nbytes=4 + rank))
        if rank:
            recorder.begin("barrier")
    assert recorder.mismatched(flight) == []


def test_the_recording_survives_the_death_of_its_rank(tmp_path):
    program = f"""
        import time
        from labkit.watch import recorder
        recorder.open({str(tmp_path)!r}, 3, 4)
        recorder.mark("running")
        recorder.end(recorder.begin("send", peer=0))
        recorder.begin("Allreduce", nbytes=8, dtype="float64", shape=(1,), group=(1, 3))
        print("ready", flush=True)
        time.sleep(60)
    """
    rank = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE)
    try:
        assert rank.stdout.readline() == b"ready\n"
        os.kill(rank.pid, signal.SIGKILL)
    finally:
        rank.kill()
        rank.wait(10)
        rank.stdout.close()
    (state,) = recorder.states(tmp_path, {3: "SIGKILL"})
    assert (state.rank, state.state, state.kind, state.group, state.detail) == (
        3,
        "dead",
        "Allreduce",
        (1, 3),
        "SIGKILL",
    )
    assert state.operations == 1
    assert abs(recorder.began(tmp_path)[3] - time.monotonic()) < 60
