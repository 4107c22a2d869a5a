"""The machinery of unit 18: sums that are known, ranks where a launcher put them, links counted, nothing lost."""

import numpy as np
import pytest
import torch
import torch.distributed as dist

from labkit import simulation
from labkit.lessons import networks as given

pytestmark = pytest.mark.usefixtures("warm")


def summed(n):
    x = given.summand(n)
    before = given.is_sum(x)
    dist.all_reduce(x)
    return before, given.is_sum(x), x[-1].item()


def test_the_sum_of_all_vectors_is_known():
    assert [rank.value for rank in simulation.run(summed, 3, (5,)).ranks] == [(False, True, 4 * 6)] * 3
    assert simulation.run(summed, 1, (5,)).ranks[0].value == (True, True, 4)


def neighbours():
    by_node = given.node_and_across_where_placed(["a", "b", "c"] * 2, 2)
    return given.node_and_across(2), given.node_and_across_where_placed(["a", "a", "b", "b", "c", "c"], 2), by_node


def test_ranks_of_a_node_where_a_launcher_has_put_them():
    told = [rank.value for rank in simulation.run(neighbours, 6).ranks]
    assert [right for right, _, _ in told] == [by_slot for _, by_slot, _ in told]
    assert told[3][0] == ([2, 3], [1, 3, 5])
    # Ranks 0, 3 | 1, 4 | 2, 5 of the program stand on the nodes; rank 1 here is its rank 3, which thinks 2 is beside it.
    assert told[1][2] == ([4, 1], [2, 1, 5])


def passed_on(n):
    rank, p = dist.get_rank(), dist.get_world_size()
    sent = dist.isend(torch.zeros(n), (rank + 1) % p)
    dist.recv(torch.zeros(n), (rank - 1) % p)
    sent.wait()
    given.gather_pieces(4)
    given.reduce_all(4)


def test_bytes_are_counted_for_each_link_and_said_in_words():
    run = simulation.run(passed_on, 4, (250,), topology=simulation.nodes(2))
    assert given.link_loads(run) == {(0, 1): 1000, (1, 2): 1000, (2, 3): 1000, (3, 0): 1000}
    assert "us  between" in given.costs(run) and "kB  inside" in given.costs(run)


def test_steps_on_a_torus_wrap_around():
    assert given.steps_on_a_torus({(0, 1): 8, (2, 0): 8, (3, 6): 8, (7, 1): 8}, 3) == [(0, 1), (1, 0)]


def unwritten(how, n, per_node):
    raise NotImplementedError


def broken(how, n, per_node):
    raise ValueError("broken")


def written(how, n, per_node):
    return how, n, per_node


def test_programs_that_are_not_written_are_left_out_and_no_others():
    network = simulation.nodes(1)
    programs = {"one": (unwritten, "x"), "two": (written, "y")}
    found = {name: run.ranks[0].value for name, run in given.those_written(programs, 2, 7, 1, network)}
    assert found == {"two": ("y", 7, 1)}
    with pytest.raises(RuntimeError, match="broken"):
        list(given.those_written({"three": (broken, "")}, 2, 7, 1, network))


def all_of_it(g, q, error):
    mean = given.dense_mean(g + error)
    error.zero_()
    return mean


def signs(g, q, error):
    mean = given.sign_mean((g.float()).view(-1), kept := error.float().view(-1).clone())
    error.copy_(kept.view_as(error))
    return mean.view_as(g).double()


def a_half(g, q, error):
    return given.dense_mean(g) / 2


def ledgers():
    return [given.ledger(method, 4) for method in (all_of_it, signs, a_half)]


def test_what_is_lost_shows_in_the_ledger():
    whole, sign, half = simulation.run(ledgers, 2).ranks[0].value
    assert whole < 1e-12 and sign < 1e-4 and half > 0.5


def trained():
    def compressed(flat, error, params, qs):
        return given.by_matrices(lambda g, q, e: given.dense_mean(g), flat, error, params, qs)

    dense = given.train(lambda flat, *_: given.dense_mean(flat), 5, 0.5)
    return dense, given.train(compressed, 5, 0.5), given.train(lambda flat, *_: flat, 0, 0.5)


def test_matrices_one_by_one_are_the_gradient():
    dense, by_matrices, untrained = simulation.run(trained, 4).ranks[0].value
    assert dense == by_matrices < untrained


def flat_and_not():
    w, gradient, loss = given.flat_problem()
    for _ in range(3):
        w = w - 0.5 * gradient(w)
    net, seen = given.network(), []
    given.descend(net, 3, after=seen.append)
    return loss(w), given.final_loss(net), seen


def test_flat_weights_take_the_steps_of_the_network():
    for rank in simulation.run(flat_and_not, 2).ranks:
        flat, net, seen = rank.value
        assert np.isclose(flat, net, rtol=1e-6) and seen == [1, 2, 3]
