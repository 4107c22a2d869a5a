"""Unit 10: an evaluation is exact on shards of any size and the same on any number of ranks; scales are GradScaler's;
the trace of the lesson holds what its page reads."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from autograder.answers import sources
from autograder.exercises.readings.devices import f1, scales_after
from labkit.simulation import run

ROOT = Path(__file__).resolve().parents[3]
UNIT = "10_devices_precision"
FOLDER = ROOT / "solutions" / "10_devices_precision"


def answered(source, function, arguments):
    names = {}
    exec(source, names)
    return names[function](*arguments)


def of_the_bank(function, name, arguments):
    """What this answer returns on each rank."""
    source = sources(UNIT, function)[name]
    return run(answered, len(arguments), [(source, function, list(one)) for one in arguments])


@pytest.mark.parametrize("seed", range(3))
def test_an_evaluation_is_exact_on_shards_of_any_size(warm, seed):
    """The same bits on every rank, and on one rank alone where losses are multiples of 2^-20; 24 bytes."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(2, 6)), int(rng.integers(1, 400))
    cuts = np.sort(rng.integers(0, n + 1, p - 1))
    flags, losses = rng.random(n) < 0.6, np.rint(rng.uniform(0, 5, n) * 2**20) / 2**20

    def shard(part):
        return int(flags[part].sum()), float(losses[part].sum()), len(flags[part]), None

    parts = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    outcome = of_the_bank("evaluate", "right_one_tensor", [shard(part) for part in parts])
    alone = of_the_bank("evaluate", "right_one_tensor", [shard(slice(None))])
    assert {rank.value for rank in outcome.ranks} == {alone.ranks[0].value}
    assert alone.ranks[0].value == (flags.sum() / n, losses.sum() / n)
    assert all(rank.collective_bytes <= 32 for rank in outcome.ranks)


@pytest.mark.parametrize(("n", "p"), [(1, 4), (8, 4), (13, 3)])
def test_the_padding_of_torchs_sampler_counts_once(warm, n, p):
    from torch.utils.data import DistributedSampler

    rng = np.random.default_rng(n)
    labels, said = rng.integers(0, 3, n), rng.integers(0, 3, n)
    dealt = [list(DistributedSampler(range(n), p, r, seed=n)) for r in range(p)]
    source = sources(UNIT, "evaluate_padded")["right_places"]
    arguments = [(source, *(values[mine].tolist() for values in (said, labels)), mine, n) for mine in dealt]
    outcome = run(padded, p, arguments)
    assert {rank.value for rank in outcome.ranks} == {float((labels == said).mean())}


def padded(source, said, labels, mine, n):
    import torch

    tensors = [torch.tensor(one) for one in (said, labels, mine)]
    return answered(source, "evaluate_padded", (*tensors, n))


def test_scales_are_those_of_grad_scaler():
    import torch

    rng = np.random.default_rng(10)
    for _ in range(10):
        interval, found = int(rng.integers(1, 5)), (rng.random(25) < 0.2).tolist()
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=interval)
        weight, scales = torch.zeros(1, requires_grad=True), []
        optimizer = torch.optim.SGD([weight], lr=0.0)
        for inf in found:
            scaler.scale(weight.sum()).backward()
            weight.grad.fill_(float("inf") if inf else 1.0)
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        assert scales_after(found, 2.0**10, interval) == scales


def test_f1_is_that_of_each_class_taken_alone():
    matrix = np.array([[5, 2, 0], [1, 7, 0], [0, 0, 0]])
    assert f1(matrix) == pytest.approx((10 / 13 + 14 / 17 + 0) / 3)


def test_the_trace_in_the_repository_is_small_and_says_where_it_is_from():
    path = FOLDER / "ddp_trace.json.gz"
    assert path.stat().st_size < 200_000
    trace = json.loads(gzip.open(path).read())
    assert trace["machine"] == "2 ranks over gloo, cpu"
    assert set(trace) == {"machine", "traceEvents"}
    names = [event["name"] for event in trace["traceEvents"]]
    assert names.count("backward") == 2 and names.count("gloo:all_reduce") == 6
    assert all(set(event) == {"ph", "cat", "name", "pid", "tid", "ts", "dur"} for event in trace["traceEvents"])
