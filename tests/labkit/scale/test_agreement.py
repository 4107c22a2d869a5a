"""Real code on the relay, the replay and the formulas say the same of a step. `make bench-simulation` has more meshes."""

from dataclasses import replace

import pytest
from pipeline_orders import gpipe, interleaved, one_f_one_b

from benchmarks.simulation import EXPERTS, GRID, OWN, compared, expert_step_of, largest, step_of
from labkit import schedules
from labkit.interconnect.topology import Link
from labkit.scale import (
    Mesh,
    Overlap,
    Step,
    Trouble,
    bubble,
    estimate,
    flat,
    nodes,
    order_1f1b,
    replay_step,
    run_step,
)
from labkit.scale.formula import hops

MESHES = [
    (1, 1, 4, 1, 4, 1, 0, 1),
    (1, 1, 4, 1, 9, 1, 0, 1),
    (1, 1, 4, 1, 8, 2, 0, 1),
    (1, 1, 1, 4, 2, 1, 3, 2),
    (1, 4, 1, 1, 2, 1, 0, 4),
    (2, 1, 2, 2, 4, 1, 0, 4),
    (2, 1, 2, 2, 4, 2, 1, 8),
    (2, 2, 2, 2, 2, 1, 2, 8),
]
OWN_CARDS = [row for row in OWN if row[0] * row[1] * row[2] * row[3] <= 32 or row[:4] == (72, 1, 2, 1)]


def test_there_are_many_meshes():
    assert len(set(GRID + OWN)) >= 80 and len(OWN_CARDS) >= 25


@pytest.mark.parametrize("row", MESHES + OWN_CARDS, ids=lambda row: "x".join(map(str, row)))
def test_relay_replay_and_formula_agree(row):
    found = compared(*step_of(*row))
    assert found["idle"] > 0.01  # there is something to agree on
    assert largest(found) < 0.01
    assert max(found[side]["bytes"] for side in ("replay", "formula")) < 1e-12


@pytest.mark.parametrize(("row", "experts"), EXPERTS, ids=["x".join(map(str, [*row, n])) for row, n in EXPERTS])
def test_the_three_agree_of_a_mixture_of_experts(row, experts):
    step, network, order = expert_step_of(row, experts)
    found = compared(step, network, order)
    assert largest(found) < 0.01 and max(found[side]["bytes"] for side in ("replay", "formula")) < 1e-12
    without = estimate(replace(step, expert_bytes=0), network)
    assert estimate(step, network).seconds > 1.005 * without.seconds and without.experts == 0


@pytest.mark.parametrize("hides", [Overlap(gradients=1 << 14), Overlap(gradients=1 << 14, gathers=1)])
def test_what_replicas_share_is_hidden_and_what_experts_share_is_not(hides):
    step, network, order = expert_step_of((1, 1, 1, 8, 3, 1, 1, 4, 4), 4)
    hidden = replace(step, overlap=hides)
    found = compared(hidden, network, order)
    assert largest(found) < 0.01
    assert estimate(hidden, network).seconds < estimate(step, network).seconds
    with pytest.raises(ValueError, match="experts with ZeRO 3"):
        replace(hidden, zero=3)


def test_experts_that_lie_on_several_nodes_take_longer_and_a_slow_card_shows():
    step, network, order = expert_step_of((1, 1, 1, 8, 3, 1, 1, 4, 4), 4)
    wide = replace(step, mesh=replace(step.mesh, experts=8), expert_gradient_bytes=0, expert_weight_bytes=0)
    assert estimate(wide, network).experts > 1.5 * estimate(step, network).experts
    assert set(estimate(step, network).bytes["experts"]) == {"inside"}
    slow = replay_step(step, network, order, Trouble(seed=1, slow_links=1))
    assert slow.seconds > replay_step(step, network, order).seconds


def test_a_tenth_more_computing_shows():
    step, slower = (Step(Mesh(pipeline=4), 8, hop_bytes=1000, forward=seconds) for seconds in (1e-3, 1.1e-3))
    network = flat(1e-5, 1e-9)
    real = run_step(step, network, order_1f1b)
    assert estimate(step, network).seconds == pytest.approx(real.elapsed, rel=1e-6)
    assert estimate(slower, network).seconds > 1.02 * real.elapsed


@pytest.mark.parametrize("p", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("m", [1, 2, 3, 8, 9, 16, 17])
def test_messages_on_the_critical_path_of_1f1b(p, m):
    found = schedules.replay([one_f_one_b(r, p, m) for r in range(p)], p, m, hop=0.01).elapsed
    assert found == pytest.approx(3 * (m + p - 1) + 0.01 * hops(p, m))


@pytest.mark.parametrize(("p", "v"), [(2, 2), (2, 4), (4, 2), (4, 4), (8, 2)])
@pytest.mark.parametrize("times", [1, 2, 5])
def test_messages_on_the_critical_path_of_interleaved_1f1b(p, v, times):
    m = times * p
    found = schedules.replay([interleaved(r, p, m, v) for r in range(p)], p, m, v, hop=0.01).elapsed
    assert found == pytest.approx(3 * (v * m + p - 1) + 0.01 * hops(p, m, v))


@pytest.mark.parametrize("order", [gpipe, one_f_one_b])
def test_the_replay_of_one_pipeline_is_that_of_schedules(order):
    p, m = 4, 6
    found = replay_step(Step(Mesh(pipeline=p), m, forward=1.0, backward=2.0), flat(0.25, 0), order)
    one = schedules.replay([order(r, p, m) for r in range(p)], p, m, hop=0.25)
    assert found.finish.ravel().tolist() == one.finish.tolist()
    assert [(e.rank, e.started, e.ended, e.label) for e in found.events] == [
        (e.rank, e.started, e.ended, e.label) for e in one.events
    ]


def test_a_backward_pass_in_two_parts_is_replayed():
    orders = [[("F", 0), ("F", 1), ("B", 0), ("B", 1), ("W", 0), ("W", 1)]] * 3
    found = replay_step(Step(Mesh(pipeline=3), 2, forward=1.0, backward=2.0), flat(0.1, 0), orders)
    one = schedules.replay(orders, 3, 2, forward=1.0, backward=1.0, weights=1.0, hop=0.1)
    assert found.finish[:, 0, 0, 0].tolist() == pytest.approx(one.finish.tolist())
    with pytest.raises(ValueError, match="F and B, alone"):
        run_step(Step(Mesh(pipeline=3), 2), flat(), orders)


def test_the_idle_share_is_the_bubble_where_messages_cost_nothing():
    for p, m, v, order in ((4, 8, 1, one_f_one_b), (4, 8, 2, interleaved)):
        step = Step(Mesh(pipeline=p), m, v)
        found = replay_step(step, flat(0, 0), order)
        assert found.idle == pytest.approx(bubble(p, m, v)) == pytest.approx(estimate(step, flat(0, 0)).idle)


def test_tensor_ranks_on_different_nodes_send_the_same_bytes_over_slower_links():
    network = nodes(4, (1e-6, 1e-10), (5e-6, 4e-9))
    good = Step(Mesh(tensor=4, data=4), 4, tensor_bytes=1 << 16, gradient_bytes=1 << 16)
    bad = Step(Mesh(tensor=4, data=4, order=("data", "context", "pipeline", "tensor")), 4, 1, tensor_bytes=1 << 16,
               gradient_bytes=1 << 16)  # fmt: skip
    one, other = estimate(good, network), estimate(bad, network)
    assert set(one.bytes["tensor"]) == {"inside"} and set(other.bytes["tensor"]) == {"between"}
    assert sum(one.bytes["tensor"].values()) == sum(other.bytes["tensor"].values())
    assert other.seconds > 1.5 * one.seconds
    real, replayed = run_step(bad, network, order_1f1b), replay_step(bad, network, order_1f1b)
    for side in (other, replayed):  # that groups that share a card take turns without a gap is an approximation
        assert 0.8 * real.elapsed < side.seconds < real.elapsed
    assert real.link_bytes["between"] == sum(n.get("between", 0) for n in other.bytes.values())


def test_tensor_ranks_on_different_nodes_with_a_card_each():
    step = Step(Mesh(tensor=4, data=4, order=("data", "context", "pipeline", "tensor")), 4, 1, tensor_bytes=1 << 16,
                gradient_bytes=1 << 16)  # fmt: skip
    for cards, close in ((2, False), (4, True)):
        network = nodes(4, (1e-6, 1e-10), (5e-6, 4e-9), cards)
        real = run_step(step, network, order_1f1b).elapsed
        for side in (estimate(step, network), replay_step(step, network, order_1f1b)):
            assert (abs(side.seconds / real - 1) < 0.01) >= close


def test_in_network_reduction_is_priced_alike():
    switch = Link(5e-6, 4e-9, reduces=True)
    step = Step(Mesh(tensor=4, data=2), 4, tensor_bytes=1 << 20, gradient_bytes=1 << 18)
    for inside in (Link(1e-6, 1e-9), Link(1e-6, 1e-9, reduces=True)):
        network, plain = nodes(4, inside, switch, 4), nodes(4, (1e-6, 1e-9), (5e-6, 4e-9), 4)
        real = run_step(step, network, order_1f1b).elapsed
        assert estimate(step, network).seconds == pytest.approx(real, rel=0.01)
        assert replay_step(step, network, order_1f1b).seconds == pytest.approx(real, rel=0.01)
        assert inside.reduces == (real < 0.95 * run_step(step, plain, order_1f1b).elapsed)
