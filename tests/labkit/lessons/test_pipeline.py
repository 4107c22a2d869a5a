"""The stage of unit 17: its passes take virtual time, and it counts what autograd keeps."""

from __future__ import annotations

import torch
from torch import nn

from labkit import simulation
from labkit.lessons.pipeline import Stage, saved_bytes, show


def test_a_schedule_is_drawn_and_its_times_are_said(capsys):
    figure = show([[("F", 0), ("B", 0)]] * 4, 1, title="one minibatch")
    assert capsys.readouterr().out.startswith("12 slots; idle 75.0% of the time; peak number")
    assert "one minibatch" in [text.get_text() for text in figure.axes[0].texts]


def test_saved_bytes_leave_weights_out_and_count_a_storage_once():
    x = torch.ones(4, 8, requires_grad=True)
    out, nbytes = saved_bytes(nn.Linear(8, 8), x)
    assert out.shape == (4, 8) and nbytes == x.untyped_storage().nbytes()
    assert saved_bytes(nn.Sequential(nn.Tanh(), nn.Identity()), x)[1] == 4 * 8 * 4


def micro_batches():
    stage = Stage(nn.Sequential(nn.Linear(8, 8), nn.Tanh()), 1e-3, 2e-3)
    outs = [stage(torch.ones(4, 8, requires_grad=True)) for _ in range(2)]
    kept = dict(stage.kept)
    for out in reversed(outs):
        out.sum().backward()
    return sorted(kept), len(set(kept.values())), stage.kept


def test_passes_take_virtual_time_and_free_what_they_kept(warm):
    run = simulation.run(micro_batches, 1)
    assert run.ranks[0].value == ([0, 1], 1, {})
    assert abs(run.elapsed - 2 * (1e-3 + 2e-3)) < 1e-12
    levels = [nbytes for _, nbytes in run.memory[0]]
    assert levels[-1] == 0 and max(levels) == 2 * levels[0] > 0
