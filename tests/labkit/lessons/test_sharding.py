"""The machinery of unit 15: the published table, counted memory, layers whose gradients are those of the whole module."""

import pytest
import torch
from torch import nn

from labkit import simulation, training
from labkit.lessons import sharding

pytestmark = pytest.mark.usefixtures("warm")


def test_the_table_has_54_numbers_and_its_own_rounding():
    numbers = list(sharding.published())
    assert len(numbers) == 54 and numbers[1] == (7_500_000_000, 1, 4, 52.5)
    assert sharding.rounds_to(7.52, 7.5) and not sharding.rounds_to(7.56, 7.5)
    assert sharding.rounds_to(1.876, 1.88) and sharding.rounds_to(2047.6, 2048)


def test_the_parts_of_a_stage():
    stages = sharding.stages(1e9, 4)
    assert stages["data parallel"] == {"parameters": 2.0, "gradients": 2.0, "optimizer state": 12.0}
    assert [sum(parts.values()) for parts in stages.values()] == [16.0, 7.0, 5.5, 4.0]


def counted():
    with sharding.Counted() as counter:
        x = torch.ones(1000)
        y = x.view(10, 100)  # the same memory
        z = x + 1
        del z
    return counter.now, counter.peak, len(y)


def test_memory_is_counted_once_and_until_it_is_free():
    now, peak, _ = simulation.run(counted, 1).ranks[0].value
    assert (now, peak) == (4000, 8000) or (now, peak) == (8000, 8000)  # what is freed is seen at the next operation


def one_step():
    def run(blocks, x):
        for block in blocks:
            x = block(x)
        return x

    return sharding.measured_step(run, context=8, width=8, heads=2, layers=2)


def test_a_step_of_blocks_takes_virtual_time_and_peaks_after_the_forward_pass():
    run = simulation.run(one_step, 1)
    kept, peak, gradient = run.ranks[0].value
    assert run.ranks[0].busy == pytest.approx(2 * 3e-3)
    assert 0 < kept <= peak and len(gradient.values) > 0


def a_layer():
    module = nn.Linear(3, 2).double()
    layer = sharding.Layer(module, 0, lambda flat, rank, p: flat.clone())
    x, g = torch.ones(4, 3, dtype=torch.float64), torch.ones(4, 2, dtype=torch.float64)
    same = torch.equal(layer.forward(layer.shard, x), module(x))
    _, gradient = layer.backward(layer.shard, g)
    module(x).backward(g)
    return same, torch.equal(gradient, training.flat(w.grad for w in module.parameters()))


def test_a_layer_computes_what_its_module_does():
    assert simulation.run(a_layer, 1).ranks[0].value == (True, True)


def test_zero_redundancy_is_adam_on_the_mean_gradient():
    one, two = (simulation.run(sharding.zero_redundancy_gpt, p, (1,)).ranks for p in (1, 2))
    assert two[0].value[1] + two[1].value[1] == one[0].value[1]
    assert abs(two[0].value[0].values - two[1].value[0].values).max() == 0
