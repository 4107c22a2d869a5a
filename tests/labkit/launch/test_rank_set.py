"""Ranks that serve several cases: what one leaves behind costs nobody a point, and none of it is a reason to pass."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from autograder.exercise import Case, Exercise, Tensor
from autograder.judging import trial
from autograder.judging.judge import judge_with
from autograder.judging.runners import Runners
from labkit.cells.slicing import Cell, slice_cells
from labkit.launch.launcher import Launcher, LauncherError, make_jobs


class AddUp(Exercise):
    """The sum over all ranks."""

    unit = "99_tests"
    function = "add_up"
    signature = "add_up(x)"
    levels = {"two": 1, "three": 1, "two again": 1}

    def cases(self, rng):
        sizes = {"two": 2, "three": 3, "two again": 2}
        return [
            Case(level, n, [(Tensor(rng.normal(size=4).astype("float32")),) for _ in range(n)])
            for level, n in sizes.items()
        ]

    def expected(self, case):
        total = sum(case.arguments_of(r)[0].values for r in range(case.world_size))
        return [Tensor(total)] * case.world_size


RIGHT = """import torch
import torch.distributed as dist

def add_up(x):
    x = x.clone()
    dist.all_reduce(x)
    return x
"""
# Right every time, if nothing of the last time is put back: the default data type, a group, the folder, the
# floating-point errors.
UNTIDY = """import os
import numpy as np
import torch
import torch.distributed as dist

def add_up(x):
    assert torch.get_default_dtype() == torch.float32 and not os.getcwd() == "/" and np.geterr()["divide"] != "raise"
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    np.seterr(all="raise")
    os.chdir("/")
    x = x.clone()
    dist.all_reduce(x, group=dist.new_group(range(dist.get_world_size())))
    return x
"""
# Right once in every process.
SPENT = """import builtins
import torch.distributed as dist

def add_up(x):
    if hasattr(builtins, "spent"):
        raise RuntimeError("used before")
    builtins.spent = True
    x = x.clone()
    dist.all_reduce(x)
    return x
"""
# Wrong wherever it runs first; it counts on what an earlier case has left.
LUCKY = """import builtins
import torch.distributed as dist

def add_up(x):
    if not hasattr(builtins, "lucky"):
        builtins.lucky = True
        return x
    x = x.clone()
    dist.all_reduce(x)
    return x
"""


def judged(warm, source: str):
    with Runners(warm) as runners:
        return judge_with(runners, AddUp(), slice_cells([Cell(source, "cell 1")], ["add_up"]))


@pytest.mark.parametrize("source", [RIGHT, UNTIDY, SPENT], ids=["right", "untidy", "spent"])
def test_what_a_case_leaves_behind_costs_nothing(warm, source, monkeypatch):
    if source is SPENT:  # called again it is wrong, for that is not what sharing does (`autograder.judging.again`)
        assert judged(warm, source).cases[-1].diagnosis == "keeps_something"
        monkeypatch.setattr(trial, "CALLED_AGAIN", ())
    result = judged(warm, source)
    assert [level.verdict for level in result.levels] == ["passed"] * 3, result.decisive


def test_what_a_failed_case_leaves_behind_helps_nobody(warm):
    assert [level.verdict for level in judged(warm, LUCKY).levels] == ["wrong"] * 3


def test_ranks_serve_one_case_after_the_other_and_end_with_their_student(warm):
    with Runners(warm) as runners:
        exercise, chunks = AddUp(), slice_cells([Cell(RIGHT, "cell 1")], ["add_up"])
        with runners.student([exercise]):
            for number, case in enumerate(exercise.cases(np.random.default_rng(0))):
                runners.run(exercise, case, chunks, 0)
                assert runners.served_before == (number > 0)
            assert runners.by_runtime["torch"].set.served == 3
        assert runners.by_runtime["torch"].set is None


def test_a_launcher_that_is_killed_in_the_middle_of_a_case_is_no_verdict():
    source = "import time\n\ndef wait(x):\n    print(x)\n    time.sleep(20)\n"
    jobs = make_jobs(slice_cells([Cell(source, "cell 1")], ["wait"]), "wait", [(1,), (2,)])
    with Launcher(()) as launcher:
        launcher.wait_until_ready()
        threading.Timer(0.3, os.kill, (launcher.pid, signal.SIGKILL)).start()
        with pytest.raises(LauncherError, match="in the middle of a case"):
            launcher.run([({**job, "runtime": "plain"}, payload) for job, payload in jobs])
        finished = make_jobs(
            slice_cells([Cell("def f(x):\n    return x", "cell 1")], ["f"]), "f", [(7,)], runtime="plain"
        )
        assert launcher.run(finished)[0].ranks[0].value == 7
