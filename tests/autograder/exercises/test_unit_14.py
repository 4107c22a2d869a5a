"""Unit 14: the same configurations on any number of ranks, Hyperband's table, no idle worker, and Optuna's journal."""

import subprocess
import sys

import pytest

from autograder.answers import sources
from autograder.exercises.readings.search import SPACE, brackets, greedy, is_in
from labkit.interconnect.topology import flat
from labkit.simulation import run

UNIT = "14_search"
FARM = sources(UNIT, "farm")["right_idle_list"]


def function_of(exercise, answer):
    names = {}
    exec(sources(UNIT, exercise)[answer], names)
    return names[exercise]


@pytest.mark.parametrize("answer", ["right_by_number", "right_whole_list", "right_random"])
def test_the_ranks_together_have_the_same_configurations_whatever_their_number(answer):
    configs = function_of("random_configs", answer)
    alone = configs(SPACE, 29, 14, 0, 1)
    assert len(alone) == 29 and all(is_in(SPACE, one) for one in alone)
    for p in range(2, 33):
        shares = [configs(SPACE, 29, 14, rank, p) for rank in range(p)]
        assert sorted(map(repr, alone)) == sorted(repr(one) for share in shares for one in share)


def test_hyperbands_table_is_that_of_the_paper():
    """Li et al., JMLR 18 (2018), arXiv 1603.06560, Table 1 (page 9): R = 81, eta = 3."""
    assert brackets(81, 3) == [
        [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)],
        [(27, 3), (9, 9), (3, 27), (1, 81)],
        [(9, 9), (3, 27), (1, 81)],
        [(6, 27), (2, 81)],
        [(5, 81)],
    ]


def farmed(source, seconds):
    from labkit.simulation import compute

    names, left = {}, list(range(len(seconds)))
    exec(source, names)
    names["farm"](
        lambda: (left.pop(0), 1) if left else None,
        lambda job, loss: None,
        lambda job, epochs: compute(seconds[job], f"F{job}") or 0.0,
    )


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_no_worker_is_idle_while_there_is_work(warm, workers):
    seconds = [1e-3 * (1 + 7 * k % 11 + k / 100) for k in range(40)]
    outcome = run(farmed, workers + 1, (FARM, seconds), topology=flat(1e-8, 0.0))
    assert outcome.elapsed == pytest.approx(max(greedy(seconds, [-1] * 40, workers)), rel=1e-3)


OPTIMIZED = """
import sys
import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
backend = optuna.storages.journal.JournalFileBackend(sys.argv[1])
storage = optuna.storages.JournalStorage(backend)
study = optuna.create_study(study_name="one", storage=storage, load_if_exists=True)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=8, callbacks=[lambda s, t: print(t.number)])
"""


def test_four_processes_share_optunas_journal_and_no_trial_runs_twice(tmp_path):
    pytest.importorskip("optuna", reason="Optuna is in the lock files: make setup")
    command = [sys.executable, "-c", OPTIMIZED, str(tmp_path / "journal.log")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    ran = [process.communicate(timeout=100)[0].split() for process in processes]
    assert sorted(int(number) for numbers in ran for number in numbers) == list(range(32))
