"""Unit 15: the published numbers that its exercises give again, and what they refuse."""

import pytest

from autograder.answers import sources
from autograder.registry import find
from labkit.simulation import run

RIGHT = sources("15_sharding", "zero3_forward_backward")
RANKS = 4
# Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (arXiv 1910.02054), table 1:
# GB on 1, 4, 16, 64, 256 and 1024 ranks
TABLE_1 = {
    (7_500_000_000, 1): [120, 52.5, 35.6, 31.4, 30.4, 30.1],
    (7_500_000_000, 2): [120, 41.3, 21.6, 16.6, 15.4, 15.1],
    (7_500_000_000, 3): [120, 30, 7.5, 1.88, 0.47, 0.12],
    (128_000_000_000, 1): [2048, 896, 608, 536, 518, 513],
    (128_000_000_000, 2): [2048, 704, 368, 284, 263, 257],
    (128_000_000_000, 3): [2048, 512, 128, 32, 8, 2],
    (1_000_000_000_000, 1): [16000, 7000, 4750, 4187, 4046, 4011],
    (1_000_000_000_000, 2): [16000, 5500, 2875, 2218, 2054, 2013],
    (1_000_000_000_000, 3): [16000, 4000, 1000, 250, 62.5, 15.6],
}


@pytest.mark.parametrize(("model", "printed"), TABLE_1.items(), ids=str)
def test_the_arithmetic_gives_the_published_table(model, printed):
    params, stage = model
    found = [find("memory_per_rank").right(params, p, stage, "adam", True) / 1e9 for p in (1, 4, 16, 64, 256, 1024)]
    for ours, theirs in zip(found, printed, strict=True):
        last_digit = 0.01 if theirs < 2 else 0.1 if theirs < 100 else 1
        assert theirs - 0.51 * last_digit <= ours < theirs + last_digit, (ours, theirs)  # rounded, or cut off


def data_parallel(n):
    import torch
    import torch.distributed as dist

    dist.all_reduce(torch.ones(n, dtype=torch.float64))


def sharded(source, sizes):
    import torch
    import torch.distributed as dist

    class Layer:
        def __init__(self, n):
            self.shard = torch.ones(-(-n // dist.get_world_size()), dtype=torch.float64)

        def forward(self, weights, x):
            return x + weights.sum()

        def backward(self, weights, g):
            return g, torch.ones_like(weights)

    names = {}
    exec(source, names)
    names["zero3_forward_backward"]([Layer(n) for n in sizes], torch.ones(1), lambda y: y)


@pytest.mark.parametrize("answer", ["one_ahead", "pipelined_generator"])
def test_zero_3_moves_one_and_a_half_times_the_bytes_of_data_parallelism_as_n_grows(warm, answer):
    source = RIGHT[f"right_{answer}"]
    ratios = []
    for n in (5, 25, 125, 625, 3125):
        bytes_of = [
            run(function, RANKS, arguments).link_bytes["between"]
            for function, arguments in ((data_parallel, (2 * n,)), (sharded, (source, [n, n])))
        ]
        ratios.append(bytes_of[1] / bytes_of[0])
        assert ratios[-1] == pytest.approx(1.5 * -(-n // RANKS) * RANKS / n)  # what is padded travels, too
    assert ratios == sorted(ratios, reverse=True) and ratios[-1] == pytest.approx(1.5, rel=1e-3)


def test_zero_3_of_layers_that_p_divides_moves_exactly_one_and_a_half_times_the_bytes(warm):
    source = RIGHT["right_one_ahead"]
    whole = run(data_parallel, RANKS, (48,)).link_bytes["between"]
    assert run(sharded, RANKS, (source, [16, 24, 8])).link_bytes["between"] == 1.5 * whole
