"""Unit 06's parts: what they count and draw, without ranks or on the relay's."""

from __future__ import annotations

import sys

import pytest
import torch
import torch.distributed as dist

from labkit import simulation
from labkit.lessons import replicas
from labkit.models import mlp
from labkit.training import load_tensors
from labkit.watch.events import Event

CURVE = [(1.0, 0.5), (2.0, 0.9)]


def test_what_is_said_of_a_curve(capsys):
    assert replicas.when(CURVE, 0.85) == " 2.00 s, 2 epochs"
    assert replicas.when(CURVE, 0.95) == "not within 2 epochs"
    replicas.print_accuracy({1: CURVE, 2: [(0.5, 0.5), (1.0, 0.9)]}, {1: CURVE}, 0.85, 100)
    assert "global batch 256 x 2       200     2.00    1.00 s, 2 epochs" in capsys.readouterr().out
    replicas.draw_accuracy({1: CURVE}, {1: CURVE}, 0.85)


def test_a_step_and_its_all_reduces_are_bars():
    events = [Event(rank, "barrier", 0.0, 0.0, 0.1) for rank in (0, 1)]
    events += [Event(rank, "all_reduce", 1.0, 1.1, 1.5, nbytes=4_000_000) for rank in (0, 1)]
    ax = replicas.draw_step([[0.2, 0.8, 1.4, 1.6]] * 2, events)
    assert len(ax.patches) >= 8 and "4.0 MB" in {text.get_text() for text in ax.texts}
    assert [one.nbytes for one in replicas.all_reduces(events, 1)] == [4_000_000]


def test_boxes_of_buckets(capsys):
    assert replicas.quarters([0.001, 0.002, 0.003, 0.004]) == [2, 3, 4]
    ax = replicas.draw_buckets([1e-5, 25], [82, 1], [[0.01] * 4, [0.02] * 4], [0.005] * 4, "two caps")
    assert ax.get_title() == "two caps"
    assert " one each:  82 all-reduces, step   10.0 ms (10.0 to 10.0)" in capsys.readouterr().out


def test_a_command_that_fails_says_so(capsys):
    replicas.run([sys.executable, "-c", "print('hello')"])
    assert capsys.readouterr().out.startswith("hello\n")
    with pytest.raises(RuntimeError, match="a word"):
        replicas.run([sys.executable, "-c", "raise SystemExit('a word')"])


def on_two_ranks():
    x, y = load_tensors("digits", n=128)
    ddp, optimizer = replicas.fresh(seed=dist.get_rank())
    sent = replicas.count_bytes(ddp)
    replicas.every_time(ddp, [(x[:8], y[:8]), (x[8:16], y[8:16])])
    twice = sum(sent)
    replicas.one_epoch(ddp, optimizer, x, y)
    return replicas.fingerprints(ddp), twice


def test_two_ranks_train_one_model_and_bytes_are_counted(warm):
    ranks = simulation.run(on_two_ranks, 2).ranks
    nbytes = sum(4 * w.numel() for w in mlp().parameters())
    for rank in ranks:
        (one, other), twice = rank.value
        assert one == other and twice == 2 * nbytes


def test_the_length_of_a_difference():
    assert replicas.relative_error(torch.tensor([3.0, 4.0]), torch.tensor([3.0, 0.0])) == pytest.approx(4 / 3)
