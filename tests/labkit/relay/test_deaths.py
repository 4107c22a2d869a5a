"""A rank that dies in the middle of a case: who is told, when, and what goes on."""

from __future__ import annotations

import textwrap

import pytest

from labkit import simulation
from labkit.cells.slicing import Chunk
from labkit.diagram.layout import layout
from labkit.diagram.shapes import Label
from labkit.launch import launcher
from labkit.launch.launcher import Limits, make_jobs
from labkit.launch.rank_set import RankSet
from labkit.relay import wire
from labkit.relay.progress import ProgressEngine
from labkit.relay.threads import ThreadedRanks

pytestmark = pytest.mark.usefixtures("warm")

THREADS = simulation.PROCESSES + 1  # so many ranks are threads

GOES_ON = """
    import torch
    import torch.distributed as dist

    def f(steps):
        alive, group, told = list(range(dist.get_world_size())), None, []
        w, step = torch.zeros(5, dtype=torch.float64), 0
        while step < steps:
            gradient = w - (dist.get_rank() + 1) * torch.arange(5.0, dtype=torch.float64)
            try:
                dist.all_reduce(gradient, group=group)
                loss = (w * w).sum()
                dist.all_reduce(loss, group=group)
            except dist.DistBackendError as gone:
                alive = [r for r in alive if r not in gone.ranks]
                told.append((step, gone.ranks))
                group = dist.new_group(alive)
                continue
            w, step = w - 0.1 * gradient / len(alive), step + 1
        return w, told
"""


def run(source: str, ranks: int, arguments: tuple = (), **network):
    """What comes of f(*arguments) on so many ranks."""
    source = textwrap.dedent(source)
    if ranks == THREADS:
        namespace: dict = {}
        exec(source, namespace)
        return ThreadedRanks(ranks, **network).run(namespace["f"], [arguments] * ranks)
    return launcher.shared().run(make_jobs([Chunk("cell 1", 1, source)], "f", [arguments] * ranks), **network)[0]


def test_a_picture_shows_the_death_and_not_what_was_refused():
    drawn = layout(run(GOES_ON, 3, (3,), kills={1: 2}).events, 3)
    (word,) = [shape for shape in drawn.of("death") if isinstance(shape, Label)]
    assert word.text == "dies" and "Rank 1 dies after 40 µs." in drawn.description
    assert "waits for" not in drawn.description and not drawn.of("stuck")


def values(outcome) -> list:
    return [rank.value for rank in outcome.ranks]


@pytest.mark.parametrize("operation", range(40))
def test_survivors_of_a_training_go_on(operation):
    outcome = run(GOES_ON, 4, (20,), kills={2: operation})
    survivors = [rank for r, rank in enumerate(outcome.ranks) if r != 2]
    assert outcome.ranks[2].state == "gone" and [rank.state for rank in survivors] == ["returned"] * 3
    assert all(rank.value[1] == [(operation // 2, (2,))] for rank in survivors)
    assert len({tuple(rank.value[0].values) for rank in survivors}) == 1
    assert all(not rank.unwaited for rank in outcome.ranks) and outcome.hang is None
    died = outcome.ranks[2].clock
    failed = [event for event in outcome.events if event.refused]
    assert len(failed) == 3 and all(died <= event.posted < died + 1e-3 for event in failed)


@pytest.mark.parametrize("kills", [{2: 7}, {0: 0, 3: 9}, {1: 4, 3: 4}], ids=str)
def test_threads_and_processes_agree(kills):
    """What the survivors of a few ranks hear does not depend on what a rank is."""
    few, many = run(GOES_ON, 4, (6,), kills=kills), run(GOES_ON, THREADS, (6,), kills=kills)
    told = {r: [entry for entry in many.ranks[r].value[1]] for r in range(4) if r not in kills}
    assert told == {r: list(map(tuple, few.ranks[r].value[1])) for r in told}


def test_messages_with_the_dead_are_refused_and_others_arrive():
    outcome = run(
        """
        import torch
        import torch.distributed as dist

        def said(call, *arguments):
            try:
                call(*arguments)
            except dist.DistBackendError as gone:
                return f"{gone} {gone.ranks}"
            return "done"

        def f():
            r, x = dist.get_rank(), torch.zeros(1)
            if r == 1:
                dist.send(torch.ones(1), 0)  # arrives: it was sent before
                dist.recv(x, 2)
            if r == 0:
                return [said(dist.recv, x, 1), x.item(), said(dist.recv, x, 1), said(dist.send, x, 1),
                        said(dist.send, x, 2)]
            if r == 2:
                work = dist.isend(x, 1)
                return [said(work.wait), said(work.wait), said(dist.recv, x, 0)]
        """,
        3,
        kills={1: 1},
    )
    gone = "rank 1 is gone (1,)"
    assert values(outcome) == [["done", 1.0, gone, gone, "done"], None, [gone, gone, "done"]]


def test_a_receive_from_any_rank_hears_of_each_death_once():
    outcome = run(
        """
        import torch
        import torch.distributed as dist

        def f():
            r, x, heard = dist.get_rank(), torch.zeros(1), []
            if r:
                dist.send(torch.full((1,), float(r)), 0)
                return None
            while len(heard) < 3:
                try:
                    dist.recv(x)
                    heard.append(x.item())
                except dist.DistBackendError as gone:
                    heard.append(list(gone.ranks))
            return heard
        """,
        5,
        kills={2: 0, 4: 0},
    )
    heard = outcome.ranks[0].value
    assert sorted(one for one in heard if isinstance(one, float)) == [1.0, 3.0]
    assert [one for one in heard if isinstance(one, list)] == [[2, 4]]


def test_all_receives_from_any_rank_that_are_open_hear_of_a_death():
    outcome = run(
        """
        import torch
        import torch.distributed as dist

        def f():
            heard = []
            if dist.get_rank():
                return dist.barrier()
            for work in [dist.irecv(torch.zeros(1)) for _ in range(2)]:
                try:
                    work.wait()
                except dist.DistBackendError as gone:
                    heard.append(list(gone.ranks))
            return heard
        """,
        2,
        kills={1: 0},
    )
    assert outcome.ranks[0].value == [[1], [1]]


def test_what_was_handed_over_asynchronously_is_refused_when_it_is_waited_for():
    outcome = run(
        """
        import torch
        import torch.distributed as dist

        def f():
            works = [dist.all_reduce(torch.ones(2), async_op=True) for _ in range(3)]
            said = []
            for work in works:
                try:
                    said.append(work.wait())
                except dist.DistBackendError as gone:
                    said.append(list(gone.ranks))
            return said
        """,
        3,
        kills={0: 2},
    )
    assert values(outcome) == [None, [True, True, [0]], [True, True, [0]]]


def test_survivors_who_have_not_heard_of_it_hang_and_the_report_says_who_is_gone():
    outcome = run(
        """
        import torch
        import torch.distributed as dist

        def f():
            r, x = dist.get_rank(), torch.zeros(1)
            try:
                dist.recv(x, r - 1) if r else dist.send(x, 1)
            except dist.DistBackendError:
                dist.recv(x, r + 1)
        """,
        4,
        kills={0: 0},
    )
    assert outcome.hang is not None
    assert "rank 0  is gone" in outcome.hang.rows and "deadlock" in outcome.hang.kind


def test_a_death_takes_effect_in_the_order_of_virtual_time():
    """Rank 1 dies at 2 s: what rank 0 has done with rank 2 and would do with rank 1 before then is done."""
    outcome = run(
        """
        import torch
        import torch.distributed as dist
        from labkit.relay.charging import compute

        def f():
            r, x, said = dist.get_rank(), torch.zeros(1), []
            if r == 1:
                work = dist.irecv(torch.zeros(1), 0)
                compute(2.0)
                dist.send(x, 2)
            if r == 0:
                compute(1.0)
                dist.send(x, 1)
                said.append("sent")
            if r == 2:
                try:
                    dist.recv(x, 1)
                except dist.DistBackendError:
                    said.append("heard")
            return said
        """,
        3,
        kills={1: 1},
    )
    assert values(outcome) == [["sent"], None, ["heard"]]
    assert outcome.ranks[2].clock == pytest.approx(2.0) and outcome.ranks[0].clock == pytest.approx(1.0, rel=1e-4)


def test_no_line_of_a_dead_rank_runs():
    outcome = run(
        """
        import os
        import torch
        import torch.distributed as dist

        def f(folder):
            try:
                dist.barrier()
            except BaseException:
                return dist.get_rank()
            finally:
                open(os.path.join(folder, str(dist.get_rank())), "w").close()
        """,
        2,
        ("/nowhere",),
        kills={0: 0},
    )
    assert outcome.ranks[0].state == "gone" and outcome.ranks[1].error["type"] == "FileNotFoundError"


def test_the_relay_says_when_a_rank_dies():
    """A rank that does not ask, or goes on when it was told, has broken the protocol."""
    engine = ProgressEngine(2, kills={1: 0})
    assert engine.lives(0) and not engine.lives(1) and engine.ranks[1].state == "gone"
    for rank in (ProgressEngine(2, kills={1: 0}), engine):
        with pytest.raises(wire.WireError, match="after"):
            rank.handle(1, wire.POST, {"ticket": 1, "op": "barrier", "group": "0", "members": [0, 1]}, b"")


def test_no_rank_can_read_who_will_die():
    """All numbers that its connection keeps are on the rank that dies next what they are on the others."""
    outcome = run(
        """
        import torch.distributed as dist
        from labkit.relay import charging

        def f():
            kept = {k: v for k, v in vars(charging.speaker()).items() if v is None or isinstance(v, (bool, int))}
            told = [None] * dist.get_world_size()
            dist.all_gather_object(told, sorted(kept.items(), key=str))
            try:
                dist.barrier()
            except dist.DistBackendError:
                return [str(one) for one in told]
        """,
        3,
        kills={1: 2},  # the barrier: gathering objects takes two operations
    )
    assert [rank.state for rank in outcome.ranks] == ["returned", "gone", "returned"]
    told = outcome.ranks[0].value
    assert len(set(told)) == 1 and "_deadly" in told[0]


def test_a_set_of_ranks_ends_with_a_death():
    source = "import torch.distributed as dist\ndef f():\n    dist.barrier()\n    return 1"
    ranks = RankSet(launcher.shared(), 2, Limits())
    outcome, ends = ranks.run(make_jobs([Chunk("cell 1", 1, source)], "f", [()] * 2), kills={0: 0})
    assert [rank.state for rank in outcome.ranks] == ["gone", "raised"]
    assert ends[0]["exit"] == 137 or ends[0]["signal"] == 9  # the set's end may reach it before it has ended itself
    assert not ranks.serves(2, Limits(), False)
