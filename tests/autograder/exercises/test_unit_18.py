"""Unit 18: exact sums and bytes of the hierarchical all-reduce, the cost models against the clock of the relay, and
nothing lost in compression."""

import numpy as np
import pytest

from autograder.answers import sources
from autograder.exercises.readings.networks import power_sgd, seconds_of, steps_of, top_k
from labkit.interconnect.topology import Link, Topology, nodes
from labkit.simulation import run

UNIT = "18_networks"
HIERARCHICAL = sources(UNIT, "hierarchical_all_reduce")["right_rings"]
HALVING = sources(UNIT, "halving_doubling")["right_halves"]
INSIDE, BETWEEN = (1e-6, 1 / 300e9), (5e-6, 1 / 12.5e9)


def all_reduced(source, n, per_node, how):
    import torch
    import torch.distributed as dist

    names, p = {}, dist.get_world_size()
    exec(source, names)
    x = torch.arange(n, dtype=torch.float64) * (dist.get_rank() + 1)
    if how == "hierarchical":
        x = names["hierarchical_all_reduce"](x, per_node)
    elif how == "halving_doubling":
        x = names["halving_doubling"](x)
    else:
        names["ring"](x, list(range(p)), [0, 1])
    return bool(torch.equal(x, torch.arange(n, dtype=torch.float64) * (p * (p + 1) / 2)))


def outcome_of(how, p, per_node, n, network):
    source = HALVING if how == "halving_doubling" else HIERARCHICAL
    outcome = run(all_reduced, p, (source, n, per_node, how), topology=network)
    assert all(rank.value for rank in outcome.ranks)
    return outcome


@pytest.mark.parametrize(
    ("p", "per_node"), [(2, 1), (2, 2), (4, 2), (6, 3), (9, 3), (10, 2), (12, 4), (15, 5), (16, 8)]
)
def test_the_hierarchical_sums_are_exact_and_the_bytes_between_nodes_are_the_bound(warm, p, per_node):
    n, count = 6 * p, p // per_node
    outcome = outcome_of("hierarchical", p, per_node, n, nodes(per_node))
    assert outcome.link_bytes.get("between", 0) == 2 * (count - 1) * 8 * n


@pytest.mark.parametrize(("p", "per_node", "n"), [(8, 4, 1 << 14), (16, 4, 1 << 14), (16, 4, 16), (32, 8, 1 << 13)])
def test_the_hierarchical_takes_no_longer_than_the_flat_ring(warm, p, per_node, n):
    times = [outcome_of(how, p, per_node, n, nodes(per_node)).elapsed for how in ("hierarchical", "ring")]
    assert times[0] <= times[1]


@pytest.mark.parametrize("how", ["ring", "halving_doubling", "hierarchical"])
@pytest.mark.parametrize(("count", "per_node", "n"), [(4, 1, 64), (1, 4, 64), (2, 4, 16), (2, 4, 4096), (4, 2, 4096)])
def test_the_cost_models_are_the_times_of_the_relay(warm, how, count, per_node, n):
    """Where ranks share a card for several steps, those that sent first go on while the others wait: the model, which
    takes all steps in time with each other, is a bound there."""
    inside, between = (Link(*link, overhead=0.0) for link in (INSIDE, BETWEEN))
    network = nodes(per_node, inside=inside, between=between) if per_node > 1 else Topology(between)
    model = seconds_of(steps_of(how, 8 * n, count, per_node), INSIDE, BETWEEN)
    measured = outcome_of(how, count * per_node, per_node, n, network).elapsed
    together = how == "ring" or 1 in (count, per_node) or (how, count) == ("halving_doubling", 2)
    assert measured == pytest.approx(model, rel=1e-9) if together else 0.75 * model < measured < model


@pytest.mark.parametrize("method", ["top_k", "power_sgd"])
def test_what_was_sent_and_what_is_kept_is_the_sum_of_the_gradients_after_every_step(method):
    rng, p = np.random.default_rng(18), 4
    gradients = rng.normal(size=(12, p, 9, 7))
    if method == "top_k":
        gradients = gradients.reshape(12, p, 63)
    for steps in range(1, 13):
        some = gradients[:steps]
        means, error, *_ = top_k(some, 3) if method == "top_k" else power_sgd(some, np.eye(7)[:, :2])
        lost = some.sum(axis=(0, 1)) - p * sum(means) - error.sum(axis=0)
        assert np.abs(lost).max() < 1e-12
