"""Unit 10's parts: what they count, on numbers that can be worked out by hand."""

from __future__ import annotations

import gzip
import json
import re

import numpy as np
import pytest
import torch

from labkit import simulation
from labkit.lessons import devices, precision, roofline, traces


def test_a_sum_in_sixteen_bits_stops_growing():
    assert precision.summed_one_by_one(300, torch.bfloat16) == 256
    assert precision.summed_one_by_one(300, torch.float32) == 300


def test_a_training_in_sixteen_bits_keeps_its_weights_in_float32():
    images, labels = precision.digits(64)
    assert images.shape == (64, 784) and images.max() <= 1 and labels.dtype == torch.int64
    losses, scales, skipped, model = precision.trained(torch.float16, 3, images, labels)
    assert len(losses) == len(scales) == len(skipped) == 3
    assert all(scale == 2.0 ** (16 - sum(skipped[: k + 1])) for k, scale in enumerate(scales))
    assert next(model.parameters()).dtype == torch.float32
    assert (precision.gradient_sizes(images, labels) > 0).all()


def test_a_small_step_moves_no_weight_in_sixteen_bits():
    images, labels = precision.digits(64)
    *_, begun = precision.trained(torch.float32, 1, images, labels)
    moved = [
        precision.goes_on(begun, dtype, 1, images, labels, lr=1e-6)[1] for dtype in (torch.float32, torch.bfloat16)
    ]
    assert moved[1] < 1e-3 < moved[0]


def test_autocast_keeps_less_for_the_backward_pass(capsys):
    kept = [precision.kept_for_backward(dtype, 8) for dtype in (torch.float32, torch.bfloat16)]
    assert 0.4 < kept[1] / kept[0] < 1
    precision.print_kept([8])
    assert f"{kept[1] / kept[0]:8.0%}" in capsys.readouterr().out


def test_a_rank_looks_for_its_own_infinities():
    assert precision.own_inf([torch.tensor([torch.inf])]) and not precision.own_inf([torch.ones(2)])
    start, loss_of = precision.small_loss()
    assert start.shape == (50,) and loss_of(start.half()).dtype == torch.float32


def sharded(steps):
    return precision.sharded_training(precision.own_inf, steps)


def counts(logits, labels, sizes):
    return devices.counted(logits, labels, sizes, 20)


def test_each_rank_counts_its_shard(warm):
    logits, labels = torch.eye(5), torch.tensor([0, 1, 2, 0, 0])
    ranks = simulation.run(counts, 2, (logits, labels, [3, 2])).ranks
    assert [(rank.value[0], rank.value[2]) for rank in ranks] == [(3, 3), (0, 2)]
    assert all(rank.value[1] * 2**20 % 1 == 0 for rank in ranks)


def test_ranks_that_decide_alone_end_with_different_scales(warm):
    scales = {rank.value[1] for rank in simulation.run(sharded, 4, (30,)).ranks}
    assert len(scales) > 1


def test_an_overlapped_step_is_shorter(warm, capsys):
    slow, fast = (
        simulation.run(how, 4, **devices.LINK).elapsed for how in (devices.like_data_parallel, devices.like_ddp)
    )
    assert fast < slow
    devices.print_speedups()
    assert re.search(r"^one GPU +DDP +devices +7.47x +x8 +93%$", capsys.readouterr().out, re.MULTILINE)


def test_gradients_of_ddp_are_those_of_the_whole_batch(warm):
    draws = torch.Generator().manual_seed(1)
    rows, targets = torch.randn(4, 6, generator=draws), torch.randn(4, 3, generator=draws)
    layer = devices.small_replica()
    torch.nn.functional.mse_loss(layer(rows), targets).backward()
    for rank in simulation.run(devices.gradients_with_ddp, 2, (rows, targets)).ranks:
        for found, right in zip(rank.value, layer.parameters(), strict=True):
            assert np.abs(found.values - right.grad.numpy()).max() < 1e-6
    averaged = [simulation.run(traces.one_step, 2, (how,)).ranks[1].value.values for how in ("DDP", "at the end")]
    assert np.array_equal(*averaged)


def event(name, begin, length, tid=1, cat="cpu_op"):
    return {"name": name, "ts": 1e3 * begin, "dur": 1e3 * length, "tid": tid, "cat": cat}


def test_a_trace_in_lanes(tmp_path, capsys):
    events = [
        event("forward", 0, 4, cat="user_annotation"),
        event("backward", 4, 6, cat="user_annotation"),
        event("aten::mm", 0, 2),
        event("aten::add", 1, 2),
        event("aten::mm", 5, 3),
        event("gloo:all_reduce", 7, 3, tid=2),
    ]
    path = tmp_path / "trace.json.gz"
    with gzip.open(path, "wt") as file:
        json.dump({"traceEvents": events, "machine": "two ranks"}, file)
    lanes = traces.lanes_of(traces.read(str(path)))
    assert lanes.computing == [[0, 3], [5, 8]] and lanes.talking == [[7, 10]]
    assert lanes.phases == [("forward", [0, 4]), ("backward", [4, 10])]
    traces.print_overlap(lanes)
    assert "communication 3.0 ms, 33% of it while computing" in capsys.readouterr().out
    assert traces.draw(lanes).get_title() == "two ranks"


def test_a_roofline_of_a_small_product():
    intensities, rates = roofline.rates(torch.float32, "cpu", side=8)
    assert len(rates) == len(roofline.columns("cpu"))
    assert intensities[0] == pytest.approx(2 * 64 / (4 * (64 + 16)))
    assert roofline.draw({"float32": (intensities, rates)}, 1e9).get_xscale() == "log"
