"""Right numbers count only where the bytes that carry them have come: whatever the way was that they came by."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autograder.exercise import Case, Exercise, RankRun, Run, Tensor, rng_for
from autograder.judging import carried
from autograder.judging.case import judge_case
from autograder.judging.judge import chunks_of_file
from autograder.judging.runners import Runners
from autograder.registry import all_exercises, find
from labkit.relay import matcher
from labkit.relay.outcome import Outcome, RankOutcome
from labkit.watch.events import COMPUTE, DEATH, POINT_TO_POINT, Event


def came(exercise, case, events=(), carried_bytes=0.0) -> str:
    """The diagnosis where every rank returns what is right."""
    ranks = [RankOutcome("returned", value, case.arguments_of(r)) for r, value in enumerate(exercise.expected(case))]
    for rank in ranks:
        rank.carried = carried_bytes
    return judge_case(exercise, case, Outcome(ranks, [], list(events), None, False), []).diagnosis


def collective(case, nbytes, kind="all_reduce", root=None, ended=1.0) -> list[Event]:
    return [Event(r, kind, 0.0, 0.0, ended, peer=root, nbytes=nbytes, match=1) for r in range(case.world_size)]


@pytest.fixture
def mean():
    exercise = find("mean_over_ranks")
    case = next(case for case in exercise.cases(rng_for(exercise, "carried")) if min(carried.bound(exercise, case)) > 1)
    return exercise, case


def test_right_numbers_without_a_message_are_refused(mean):
    exercise, case = mean
    assert came(exercise, case) == "not_carried"
    assert came(exercise, case, collective(case, 4096)) != "not_carried"


@pytest.mark.parametrize("kind", ["barrier", "Barrier", "barrier()"[:7], "ibarrier"])
def test_barriers_carry_nothing(mean, kind):
    assert came(*mean, collective(mean[1], 4096, kind)) == "not_carried"


def test_computing_carries_nothing(mean):
    """Whoever charges virtual time in a case has neither told nor heard anything by that."""
    computed = [Event(r, COMPUTE, 0.0, 0.0, 1.0) for r in range(mean[1].world_size)]
    assert came(*mean, computed) == "not_carried"
    run = Run(tuple(RankRun(None) for _ in computed), events=tuple(computed))
    assert carried.arrived(run) == [0] * mean[1].world_size


def test_every_kind_of_event_tells_or_is_silent(mean):
    """What the relay can record is a message, a collective that moves bytes, or known to move none."""
    kinds = {*matcher.EXCHANGES, *POINT_TO_POINT, COMPUTE, DEATH}
    for kind in kinds:
        events = [Event(r, kind, 0.0, 0.0, 1.0, nbytes=8, match=1) for r in range(2)]
        got = carried.arrived(Run((RankRun(None), RankRun(None)), events=tuple(events)))
        heard = 0.0 if kind in (*carried.SILENT, "send") else 8.0 if kind == "recv" else 16.0
        assert got == [heard, heard], kind
    assert {kind for kind in kinds if kind in carried.SILENT} == {"barrier", COMPUTE, DEATH}


def test_a_collective_that_nobody_completed_or_that_has_too_few_bytes_carries_too_little(mean):
    assert came(*mean, collective(mean[1], 4096, ended=None)) == "not_carried"
    assert came(*mean, [event for event in collective(mean[1], 4096) if event.rank == 0]) == "not_carried"
    few = [Event(r, "broadcast", 0.0, 0.0, 1.0, peer=0, nbytes=int(r == 0), match=1) for r in range(mean[1].world_size)]
    assert came(*mean, few) == "not_carried"


def test_only_the_root_hears_in_a_reduction(mean):
    assert came(*mean, collective(mean[1], 4096, "reduce", root=0)) == "not_carried"
    run = Run(
        tuple(RankRun(None) for _ in range(mean[1].world_size)), events=tuple(collective(mean[1], 8, "Reduce", root=0))
    )
    assert carried.arrived(run)[0] == 8 * mean[1].world_size and not any(carried.arrived(run)[1:])


def test_messages_count_where_they_arrive(mean):
    exercise, case = mean
    events = [
        Event(r, kind, 0.0, 0.0, 1.0, peer=int(not r), nbytes=4096)
        for r in range(case.world_size)
        for kind in ("send", "recv")
    ]
    assert came(exercise, case, events) != "not_carried"
    assert came(exercise, case, [event for event in events if event.kind == "send"]) == "not_carried"


def test_large_objects_do_not_tell_their_size(mean):
    run = Run(
        tuple(RankRun(None) for _ in range(mean[1].world_size)), events=tuple(collective(mean[1], 0, "allreduce"))
    )
    assert carried.arrived(run) == [math.inf] * mean[1].world_size


@pytest.mark.parametrize("exercise", [e for e in all_exercises() if e.runtime != "plain"], ids=lambda e: e.function)
def test_no_exercise_on_several_ranks_can_be_solved_in_silence(exercise):
    """Except those whose right answers may say nothing, which say so, in cases where no rank returns another's numbers."""
    cases = [case for case in exercise.cases(rng_for(exercise, "carried")) if case.world_size > 1]
    for case in cases:
        wanted = carried.bound(exercise, case)
        assert len(wanted) == case.world_size and all(type(least) is int and least >= 0 for least in wanted)
        silent = Run(tuple(RankRun(None) for _ in range(case.world_size)))
        assert bool(carried.lacking(exercise, case, silent)) == (exercise.talks or any(wanted))


def test_what_a_rank_knows_by_itself_needs_no_bytes():
    class Own(Exercise):
        unit, function, signature, levels = "99", "own", "own(x)", {"all": 1}

        def expected(self, case):
            return [Tensor(case.arguments_of(0)[0].values), [5.5, 1, True, None, "text"], {"a": 7.25}]

    x = Tensor(np.array([1.5, 2.5, 3.5]))
    case = Case("all", 3, [(x,), (2.5,), (7.25, [4.5])])
    assert carried.bound(Own(), case) == [0, 1, 0]


class Handed(Exercise):
    """Every rank returns what its right neighbour holds, and something of its own."""

    unit, function, signature, levels, all_hear = "99", "handed", "handed(x)", {"all": 1}, True

    def expected(self, case):
        shares = [x.values for (x,) in case.arguments]
        return [[Tensor(shares[(r + 1) % case.world_size]), Tensor(x)] for r, x in enumerate(shares)]


def handed(*shares) -> tuple[Exercise, Case]:
    return Handed(), Case("all", len(shares), [(Tensor(np.array(share, float)),) for share in shares])


def around(case, sizes) -> list[Event]:
    """The messages of sizes[r] bytes to each rank r from its right neighbour."""
    p, events = case.world_size, []
    for r, nbytes in enumerate(sizes):
        events.append(Event((r + 1) % p, "send", 0.0, 0.0, 1.0, peer=r, nbytes=nbytes, match=r))
        events.append(Event(r, "recv", 0.0, 0.0, 1.0, peer=(r + 1) % p, nbytes=nbytes, match=r))
    return events


def test_nan_needs_no_bytes():
    exercise, case = handed([math.nan, 1.5], [2.5, math.nan, math.nan], [math.nan, math.nan])
    assert carried.needed(exercise, case) == [1, 0, 1]
    assert carried.bound(exercise, case) == [1, 1, 1]
    assert came(exercise, case, around(case, [24, 16, 16])) == ""
    assert came(exercise, case) == "not_carried"


def test_empty_shares_are_carried_by_empty_messages():
    """What has no elements has no bytes; that it came is all there is to tell."""
    exercise, case = handed([], [], [])
    assert came(exercise, case, around(case, [0, 0, 0])) == ""
    assert came(exercise, case, around(case, [0, 0, 0])[:4]) == "not_carried"
    empty = [Event(r, "all_gather", 0.0, 0.0, 1.0, match=1, dtype="float64") for r in range(3)]
    assert came(exercise, case, empty) == ""
    exercise, case = handed([1.5], [], [2.5, 3.5])
    assert came(exercise, case, around(case, [0, 16, 8])) == ""


def test_empty_collectives_do_not_stand_for_numbers():
    """Of a torch collective the type is known, and so is that it carries nothing; of a pickled one nothing is."""
    exercise, case = handed([1.5, 2.5], [3.5, 4.5, 5.5, 6.5], [7.5, 8.5])
    empty = [Event(r, "all_gather", 0.0, 0.0, 1.0, match=1, dtype="float64") for r in range(3)]
    assert carried.arrived(Run((RankRun(None),) * 3, events=tuple(empty))) == [1, 1, 1]
    assert came(exercise, case, empty) == "not_carried"


def test_what_a_rank_sends_itself_is_no_news():
    exercise, case = handed([1.5], [2.5], [3.5])
    kinds = ("send", "recv", "Put", "Get")
    alone = [
        Event(r, kind, 0.0, 0.0, 1.0, peer=r, nbytes=nbytes) for r in range(3) for kind in kinds for nbytes in (0, 8)
    ]
    alone += [Event(r, "send", 0.0, 0.0, 1.0, peer=r, nbytes=8, match=9 + r) for r in range(3)]
    alone += [Event(r, "recv", 0.0, 0.0, 1.0, nbytes=8, match=9 + r) for r in range(3)]  # from any source
    alone += [Event(r, "all_reduce", 0.0, 0.0, 1.0, nbytes=8, group=(r,), match=r) for r in range(3)]
    run = Run(tuple(RankRun(value) for value in exercise.expected(case)), events=tuple(alone))
    assert carried.arrived(run) == [0, 0, 0]
    assert carried.lacking(exercise, case, run).startswith("no rank has sent")


# Ways of adding up one number over two ranks that are no message and no collective; `mine` is this rank's.
UNUSUAL = {
    "put": """
    table, own = np.zeros(comm.size, np.int64), np.array([mine], np.int64)
    win = MPI.Win.Create(table, disp_unit=8, comm=comm)
    win.Fence()
    for q in range(comm.size):
        win.Put(own, q, comm.rank)
    win.Fence()
    return int(table.sum())
""",
    "get": """
    own, boxes = np.array([mine], np.int64), np.zeros((comm.size, 1), np.int64)
    win = MPI.Win.Create(own, disp_unit=8, comm=comm)
    comm.Barrier()
    win.Lock_all()
    MPI.Request.Waitall([win.Rget(boxes[q], q) for q in range(comm.size)])
    win.Unlock_all()
    comm.Barrier()
    return int(boxes.sum())
""",
    "accumulate": """
    own = np.zeros(1, np.int64)
    win = MPI.Win.Create(own, disp_unit=8, comm=comm)
    win.Fence()
    for q in range(comm.size):
        win.Accumulate(np.array([mine], np.int64), q, op=MPI.SUM)
    win.Fence()
    return int(own[0])
""",
    "fetch": """
    win = MPI.Win.Allocate(8, 8, comm=comm)
    table, old = np.frombuffer(win, np.int64), np.zeros(1, np.int64)
    table[:] = 0
    comm.Barrier()
    for q in range(comm.size):
        win.Lock(q)
        win.Fetch_and_op(np.array([mine], np.int64), old, q)
        win.Unlock(q)
    comm.Barrier()
    return int(table[0])
""",
    "shared memory": """
    win = MPI.Win.Allocate_shared(8, 8, comm=comm)
    tables = [np.frombuffer(win.Shared_query(q)[0], np.int64) for q in range(comm.size)]
    tables[comm.rank][0] = mine
    comm.Barrier()
    return int(sum(table[0] for table in tables))
""",
    "message": """
    request = comm.isend(mine, 1 - comm.rank)
    total = mine + MPI.Message.probe(comm).irecv().wait()
    request.wait()
    return total
""",
    "between groups": """
    own = comm.Split(comm.rank)
    return mine + own.Create_intercomm(0, comm, 1 - comm.rank).allreduce(mine)
""",
    "merged groups": """
    own = comm.Split(comm.rank)
    return own.Create_intercomm(0, comm, 1 - comm.rank).Merge().allreduce(mine)
""",
    "duplicated": """
    other, request = comm.Idup()
    request.Wait()
    return other.allreduce(mine)
""",
    "pickles": """
    from mpi4py.util import pkl5

    return sum(pkl5.Intracomm(comm).bcast(mine, root=q) for q in range(2))
""",
    "more than is recorded": """
    total = comm.allreduce(mine)
    for _ in range(5000):
        comm.Barrier()
    return total
""",
}


def test_what_goes_through_windows_and_other_ways_counts_as_well(warm):
    exercise = find("estimate_pi")
    case = next(case for case in exercise.cases(rng_for(exercise)) if case.world_size == 2)
    source = """import numpy as np
from mpi4py import MPI


def add(comm, mine):
    {}


def estimate_pi(comm, n, draw):
    x, y = draw(n // 2)
    return 4 * add(comm, int(np.count_nonzero(x * x + y * y < 0.25))) / n
"""
    found = {}
    with Runners(warm) as runners:
        for way, body in UNUSUAL.items():
            chunks = chunks_of_file(source.format(body.strip()), "estimate_pi", "answer.py")
            found[way] = judge_case(exercise, case, *runners.run(exercise, case, chunks, 1, poison=1)).diagnosis
    assert found == dict.fromkeys(UNUSUAL, "")


def test_a_window_alone_carries_nothing():
    windows = collective(Case("all", 2, ()), 0, "Win.Create") + collective(Case("all", 2, ()), 0, "Win.Fence")
    assert carried.arrived(Run((RankRun(None), RankRun(None)), events=tuple(windows))) == [0, 0]
    put = Event(0, "Put", 0.0, 0.0, 1.0, peer=1, nbytes=24)
    got = Event(0, "Get", 0.0, 0.0, 1.0, peer=1, nbytes=16)
    assert carried.arrived(Run((RankRun(None), RankRun(None)), events=(put, got))) == [16, 24]


def test_a_byte_must_come_where_the_exercise_says_that_all_must_hear():
    for function in ("estimate_pi", "sum_over_ranks", "exact_accuracy", "average_and_clip"):
        exercise = find(function)
        for case in exercise.cases(rng_for(exercise, "carried")):
            assert case.world_size == 1 or min(carried.bound(exercise, case)) > 0, case
    for function in ("send_matrix", "move_matrix"):
        exercise = find(function)
        for case in exercise.cases(rng_for(exercise, "carried")):
            assert [r for r, least in enumerate(carried.bound(exercise, case)) if least == 48] == [case.arguments[2]]
