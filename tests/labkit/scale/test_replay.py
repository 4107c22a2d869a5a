"""The replay on many ranks: trouble drawn from a seed, what is refused, a step of 16,384 ranks."""

import numpy as np
import pytest

from benchmarks.simulation import llama
from labkit.scale import Mesh, Step, Trouble, estimate, flat, nodes, order_1f1b, order_interleaved, replay_step
from labkit.schedules import StandStill

STEP = Step(Mesh(2, 2, 4, 4), 8, tensor_bytes=1 << 12, context_bytes=1 << 10, hop_bytes=1 << 12, gradient_bytes=1 << 14)
NETWORK = nodes(4, (1e-6, 5e-10), (2e-6, 1e-9))


def test_trouble_is_drawn_from_the_seed():
    trouble = {"jitter": 0.05, "stragglers": 2, "slow_links": 3}
    one, again, other = (replay_step(STEP, NETWORK, order_1f1b, Trouble(seed, **trouble)) for seed in (1, 1, 2))
    assert (one.finish == again.finish).all()
    assert one.seconds != other.seconds
    assert one.bytes == other.bytes == replay_step(STEP, NETWORK, order_1f1b).bytes


@pytest.mark.parametrize("trouble", [Trouble(jitter=0.02), Trouble(stragglers=1), Trouble(slow_links=1)])
def test_trouble_takes_time(trouble):
    calm = replay_step(STEP, NETWORK, order_1f1b)
    assert replay_step(STEP, NETWORK, order_1f1b, trouble).seconds > 1.0001 * calm.seconds


def test_one_straggler_slows_everybody_down_and_only_it_computes_longer():
    calm = replay_step(STEP, NETWORK, order_1f1b)
    found = replay_step(STEP, NETWORK, order_1f1b, Trouble(stragglers=1, straggling=2.0))
    assert np.count_nonzero(found.busy > 1.5 * calm.busy) == 1
    assert found.seconds > 1.5 * calm.seconds
    assert (found.finish.ravel() > 1.5 * calm.finish.ravel()).all()  # the gradients are everybody's


def test_the_more_ranks_the_more_jitter_costs():
    def slower(data):
        step = Step(Mesh(pipeline=4, data=data), 8)
        return replay_step(step, flat(), order_1f1b, Trouble(3, 0.05)).seconds

    assert slower(1) < slower(16) < slower(256)


def test_an_order_that_is_none_is_named():
    with pytest.raises(StandStill, match="rank 1: B0"):
        replay_step(Step(Mesh(pipeline=2), 1), flat(), [[("F", 0), ("B", 0)], [("B", 0), ("F", 0)]])
    with pytest.raises(ValueError, match="rank 0: B1 is missing"):
        replay_step(Step(Mesh(pipeline=1), 2), flat(), [[("F", 0), ("B", 0), ("F", 1)]])
    with pytest.raises(ValueError, match="is there twice"):
        replay_step(Step(Mesh(pipeline=1), 1), flat(), [[("F", 0), ("F", 0)]])
    with pytest.raises(ValueError, match="1 orders for 2 ranks"):
        replay_step(Step(Mesh(pipeline=2), 1), flat(), [[("F", 0), ("B", 0)]])
    with pytest.raises(ValueError, match="none of this pipeline"):
        replay_step(Step(Mesh(pipeline=1), 1), flat(), [["F0", "B0"]])
    with pytest.raises(ValueError, match="none of this pipeline"):
        replay_step(Step(Mesh(pipeline=1), 1), flat(), [[("F", 7), ("B", 0)]])
    with pytest.raises(ValueError, match="0, 1, 2 and 3"):
        Step(Mesh(), 1, zero=4)
    with pytest.raises(ValueError, match="layers of 3 chunks for 2 x 1"):
        Step(Mesh(pipeline=2), 1, layers=(1, 1, 1))
    with pytest.raises(ValueError, match="99 stragglers"):
        replay_step(Step(Mesh(), 1), flat(), order_1f1b, Trouble(stragglers=99))


def test_a_step_of_16384_ranks_of_a_model_of_405_billion_parameters():
    plan = llama()
    step, network = plan.step(), plan.machine.topology
    found = replay_step(step, network, order_interleaved, Trouble(seed=1, jitter=0.02))
    assert found.finish.size == 16384
    assert found.actions == 16384 * 2 * 16 * 8
    # its first and last chunk have no layer, which the formula spreads over all
    assert replay_step(step, network, order_interleaved).seconds == pytest.approx(plan.estimate().seconds, rel=0.02)
    assert found.bytes == estimate(step, network).bytes
