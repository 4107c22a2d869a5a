"""Endless loops end long before a case's deadline, whether they compute or sleep; a slow answer on a busy machine is
none."""

from __future__ import annotations

import sys
import time

import psutil
import pytest

from autograder.judging.judge import judge
from autograder.registry import find
from labkit.cells.slicing import Chunk
from labkit.watch import pace
from labkit.watch.pace import Pace
from labkit.watch.standstill import TOGETHER, Silence, Watch

SLEEPS = "while True: time.sleep(1)"
NAPS = "while True: time.sleep(0.002)"
COMPUTES = "while True: pass"
ALL = "import time\ndef {name}(*arguments):\n    {loop}\n"
ONE_ON_THE_RELAY = """
import time
import torch
import torch.distributed as dist
def {name}(*arguments):
    if dist.get_rank() == 0:
        {loop}
    dist.all_reduce(torch.ones(1))
"""
ONE_IN_MPI = """
import time
from mpi4py import MPI
def {name}(*arguments):
    if MPI.COMM_WORLD.Get_rank() == 0:
        {loop}
    MPI.COMM_WORLD.allreduce(1)
"""


@pytest.mark.parametrize(
    ("name", "source", "loop", "limit"),
    [
        ("fair_share", ALL, SLEEPS, 30),
        ("fair_share", ALL, NAPS, 30),
        ("fair_share", ALL, COMPUTES, 40),
        ("mean_over_ranks", ONE_ON_THE_RELAY, SLEEPS, 30),
        ("mean_over_ranks", ONE_ON_THE_RELAY, COMPUTES, 40),
        ("sum_counts", ALL, SLEEPS, 45),
        ("sum_counts", ONE_IN_MPI, SLEEPS, 45),
    ],
)
def test_an_endless_loop_is_named_before_the_deadline(warm, name, source, loop, limit):
    """On an idle machine within 15 s; the limits leave room for a busy one, and stretch with it. They were 70 s and
    more."""
    begun, before = time.monotonic(), pace.now().clock
    result = judge(find(name), [Chunk("In [1]", 1, source.format(name=name, loop=loop))], warm)
    assert {level.verdict for level in result.levels} == {"too_slow"}
    assert time.monotonic() - begun < limit * max(before, pace.now().clock)


def window(*ranks):
    return {"since": time.monotonic(), "ranks": {str(r): one for r, one in enumerate(ranks)}}


def test_a_rank_that_computes_is_judged_by_its_processor_time():
    """It got a tenth of a core and wanted more: after ten times as long it may still go on."""
    silence = Silence(4.0, measure=Pace)
    assert not any(silence.too_long(window([0.1, False]), [0]) for _ in range(39))
    assert any(silence.too_long(window([0.1, False]), [0]) for _ in range(3))


def test_on_a_slow_machine_the_same_computation_may_take_more_processor_time():
    silence = Silence(4.0, measure=lambda: Pace(processor=3.0))
    assert not any(silence.too_long(window([1.0, False]), [0]) for _ in range(11))
    assert any(silence.too_long(window([1.0, False]), [0]) for _ in range(2))


def test_many_ranks_share_the_processor_time():
    silence = Silence(4.0, measure=Pace)
    seconds = 0
    while not silence.too_long(window(*[[0.5, False]] * 4), range(4)):
        seconds += 1
    assert seconds == TOGETHER * 4.0 / 2 - 1


def test_one_who_is_heard_begins_anew():
    silence = Silence(4.0, measure=Pace)
    for _ in range(10):
        assert not any(silence.too_long(window([0.0, True]), [0]) for _ in range(3))
        silence.heard(0)
    early = {**window([0.0, True]), "since": time.monotonic() - 10}
    assert not any(silence.too_long(early, [0]) for _ in range(9))  # it has been heard within them


def test_who_waits_for_others_is_not_asked_for():
    silence = Silence(4.0, measure=Pace)
    assert not any(silence.too_long(window([9.0, False], [0.0, True]), []) for _ in range(9))


def test_a_stopped_machine_is_one_window():
    """Whatever a window's length by the clock, it counts as one."""
    silence = Silence(4.0, measure=Pace)
    assert not any(silence.too_long(window([0.0, True]), [0]) for _ in range(3))
    assert silence.too_long(window([0.0, True]), [0])


@pytest.mark.parametrize(("loop", "sleeps"), [("import time; time.sleep(60)", True), ("while True: pass", False)])
def test_a_process_is_seen_with_its_children(loop, sleeps):
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {loop!r}])"
    with psutil.Popen([sys.executable, "-c", program]) as process:
        try:
            watch, found = Watch(), []
            end = time.monotonic() + 4.5
            while time.monotonic() < end:
                found.append(watch.look({process.pid: 0}))
                time.sleep(0.05)
            windows = [one["ranks"]["0"] for one in found if one and "0" in one["ranks"]]
            assert len(windows) >= 2 and windows[-1][1] is sleeps
        finally:
            for child in process.children(recursive=True):
                child.kill()
            process.kill()
