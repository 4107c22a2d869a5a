"""Links, the cards that messages occupy, and what a library's collectives cost on them."""

from collections import Counter

import pytest

from labkit.interconnect.collectives import rounds, uneven_rounds
from labkit.interconnect.topology import Link, Topology, flat, nodes

KINDS = ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "gather", "scatter", "all_to_all")


@pytest.mark.parametrize(
    ("kind", "seconds"),
    [
        ("all_reduce", lambda p, n, a, b: 2 * (p - 1) * (a + n / p * b)),
        ("broadcast", lambda p, n, a, b: (p - 1).bit_length() * (a + n * b)),
        ("reduce", lambda p, n, a, b: (p - 1).bit_length() * (a + n * b)),
        ("all_gather", lambda p, n, a, b: (p - 1) * (a + n * b)),
        ("gather", lambda p, n, a, b: (p - 1) * (a + n * b)),
        ("reduce_scatter", lambda p, n, a, b: (p - 1) * (a + n / p * b)),
        ("all_to_all", lambda p, n, a, b: (p - 1) * (a + n / p * b)),
        ("scatter", lambda p, n, a, b: (p - 1) * (a + n / p * b)),
        ("barrier", lambda p, n, a, b: (p - 1).bit_length() * a),
    ],
)
@pytest.mark.parametrize("p", [1, 2, 3, 4, 7, 8, 9])
def test_the_usual_costs_on_a_flat_network(kind, seconds, p):
    alpha, beta, nbytes = 3e-6, 2e-9, 4096
    cost = flat(alpha, beta).collective(kind, range(p))
    assert cost.seconds(nbytes) == pytest.approx(seconds(p, nbytes, alpha, beta), rel=1e-12)


@pytest.mark.parametrize("p", range(2, 18))
def test_a_tree_reaches_everybody_once(p):
    reached = {0}
    for _, _, messages in rounds("broadcast", p):
        assert all(a in reached and b not in reached for a, b in messages)
        reached |= {b for _, b in messages}
        assert len({a for a, _ in messages}) == len(messages)
    assert reached == set(range(p))
    down = [message for _, _, messages in rounds("broadcast", p) for message in messages]
    up = [message for _, _, messages in rounds("reduce", p) for message in messages]
    assert sorted(up) == sorted((b, a) for a, b in down)


def test_ranks_of_a_node_share_its_card():
    topology = nodes(4, inside=(1e-6, 1e-11), between=(5e-6, 1e-9))
    assert topology.cards(0, 5) == (("node", 0), ("node", 1))
    assert topology.cards(1, 3) == (("rank", 1), ("rank", 3))
    assert [topology.kind(0, r) for r in (1, 3, 4, 7)] == ["inside", "inside", "between", "between"]
    assert topology.link(2, 6).seconds(1000) == pytest.approx(6e-6)


def test_a_ring_over_nodes_in_order_crosses_each_card_once_and_out_of_order_four_times():
    topology, n = nodes(4, inside=(1e-6, 1e-12), between=(5e-6, 1e-9)), 1 << 20
    good = topology.collective("all_reduce", range(8))
    bad = topology.collective("all_reduce", [0, 4, 1, 5, 2, 6, 3, 7])
    assert good.shares == pytest.approx({"inside": 14 / 8 * 6, "between": 14 / 8 * 2})
    assert bad.shares == pytest.approx({"between": 14})
    assert bad.seconds(n) / good.seconds(n) == pytest.approx(4, rel=0.03)


def test_ranks_have_a_card_of_their_own_or_share_one_with_neighbours():
    own, pairs, thirds = nodes(4, cards=4), nodes(4, cards=2), nodes(4, cards=3)
    assert [own.card_of(r)[1:] for r in range(8)] == [(n, k) for n in (0, 1) for k in range(4)]
    assert [pairs.card_of(r)[1:] for r in range(6)] == [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 0)]
    assert [thirds.card_of(r)[2] for r in range(4)] == [0, 0, 1, 2]
    assert own.cards(1, 6) == (("node", 0, 1), ("node", 1, 2))
    assert own.cards(1, 3) == (("rank", 1), ("rank", 3))


def test_a_tensor_group_across_eight_nodes_has_one_card_on_each():
    n, rate = 1 << 27, 50e9
    network = nodes(8, (1.5e-6, 1 / 450e9), (5e-6, 1 / rate), cards=8)
    groups = [network.collective("all_reduce", range(place, 64, 8)) for place in range(8)]
    for found in groups:
        assert found.seconds(n) == pytest.approx(2 * 7 / 8 * n / rate, rel=0.02)
    used = Counter(card for found in groups for card in {*found.out, *found.into})
    assert len(used) == 64 and set(used.values()) == {1}  # eight groups at once do not meet


def test_several_rings_go_through_several_cards():
    n, link = 1 << 27, ((0.0, 1e-12), (0.0, 1e-9))
    one, own = (
        nodes(4, *link).collective("all_reduce", range(8)),
        nodes(4, *link, cards=4).collective("all_reduce", range(8)),
    )
    assert own.seconds(n) == pytest.approx(one.seconds(n) / 4)
    assert own.shares == pytest.approx(one.shares)
    assert {card: load[1] for card, load in own.out.items() if card[0] == "node"} == pytest.approx(
        {("node", a, k): 2 * 7 / 8 / 4 * 1e-9 for a in (0, 1) for k in range(4)}
    )
    two = nodes(4, *link, cards=4).collective("all_reduce", [0, 2, 4, 6])  # two of its ranks on a node: two rings
    assert two.seconds(n) == pytest.approx(2 * 3 / 4 / 2 * n * 1e-9)
    uneven = nodes(4, *link, cards=4).collective("all_gather", [0, 1, 2, 3, 4])  # one card on the second node
    assert uneven.seconds(n) == pytest.approx(4 * n * 1e-9)
    mixed = nodes(4, *link, cards=4).collective("all_reduce", [0, 4, 1, 5])  # not node by node: the ring as it comes
    assert mixed.shares == pytest.approx({"between": 2 * 3 / 4 * 4})


@pytest.mark.parametrize("cards", [1, 4])
def test_switches_that_reduce_let_each_rank_send_once(cards):
    n, sharp = 1 << 27, Link(5e-6, 1e-9, reduces=True)
    across = nodes(4, (1e-6, 1e-12), sharp, cards)
    group = range(0, 32, 4)
    assert across.collective("all_reduce", group).seconds(n) == pytest.approx(n * 1e-9 + 5e-6)
    assert across.collective("all_reduce", group).shares == {"between": 8.0}
    ring = nodes(4, (1e-6, 1e-12), (5e-6, 1e-9), cards).collective("all_reduce", group)
    assert ring.shares == pytest.approx({"between": 8 * 2 * 7 / 8})
    inside = nodes(4, (1e-6, 1e-12), sharp, cards).collective("all_reduce", range(8))  # NVLink's do not: no gain
    assert inside.shares == pytest.approx({"inside": 14 / 8 * 6, "between": 14 / 8 * 2})
    both = nodes(4, Link(1e-6, 1e-12, reduces=True), sharp, cards).collective("all_reduce", range(8))
    assert both.shares == pytest.approx({"inside": 6.0, "between": 2.0})
    for kind in set(KINDS) - {"all_reduce"}:
        plain = nodes(4, (1e-6, 1e-12), (5e-6, 1e-9), cards)
        assert across.collective(kind, group) == plain.collective(kind, group)


def test_the_root_is_the_first_of_the_members():
    topology = nodes(2, inside=(1e-6, 0.0), between=(9e-6, 0.0))
    gather = topology.collective("gather", [3, 2, 1, 0])
    assert gather.shares == {"inside": 1.0, "between": 2.0}
    assert gather.seconds(8) == pytest.approx(1e-6 + 2 * 9e-6)
    assert set(gather.into) == {("rank", 3), ("node", 1)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_of_one_costs_nothing(kind):
    assert nodes(4).collective(kind, [2]).seconds(1 << 20) == 0.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Link(-1e-6, 0.0),
        lambda: Link(1e-6, float("nan")),
        lambda: Link(1e-6, 0.0, overhead=2e-6),
        lambda: nodes(0),
        lambda: Topology(Link(1e-6, 0.0), ranks_per_node=4),
        lambda: nodes(4, cards=0),
        lambda: nodes(4, cards=5),
    ],
)
def test_what_is_no_network_is_refused(wrong):
    with pytest.raises(ValueError, match="link|ranks per node"):
        wrong()


@pytest.mark.parametrize("kind", ["all_to_all", "scatter", "reduce_scatter"])
@pytest.mark.parametrize("topology", [flat(3e-6, 2e-9), nodes(2), nodes(4, cards=4)], ids=["flat", "nodes", "own"])
@pytest.mark.parametrize("p", [2, 3, 6, 8])
def test_equal_pieces_cost_the_same_one_by_one(kind, topology, p):
    pieces = [[64] * p] * (1 if kind == "scatter" else p)
    usual, exact = topology.collective(kind, range(p)), topology.uneven(kind, range(p), pieces)
    assert exact.seconds(1) == pytest.approx(usual.seconds(64 * p), rel=1e-12)
    assert exact.shares == pytest.approx({link: 64 * p * share for link, share in usual.shares.items()})


def test_uneven_pieces_cost_what_they_are():
    network, nbytes = flat(1e-6, 1e-9), 6000
    swapped = network.uneven("all_to_all", range(2), [[0, nbytes], [nbytes, 0]])
    assert swapped.seconds(1) == pytest.approx(1e-6 + nbytes * 1e-9)
    assert swapped.shares == {"between": 2 * nbytes}
    dealt = network.uneven("scatter", range(3), [[100, 0, 500]])
    assert dealt.seconds(1) == pytest.approx(2e-6 + 500e-9)
    assert dealt.shares == {"between": 500}
    reduced = network.uneven("reduce_scatter", range(3), [[900, 0, 0]] * 3)
    assert reduced.seconds(1) == pytest.approx(2 * (1e-6 + 900e-9))
    assert reduced.shares == {"between": 2 * 900}


def test_every_chunk_of_a_reduce_scatter_ends_at_home():
    chunks = [1, 10, 100, 1000]
    carried = [message for step in uneven_rounds("reduce_scatter", [chunks] * 4) for message in step]
    for home, nbytes in enumerate(chunks):
        way = [(a, b) for a, b, size in carried if size == nbytes]
        assert way == [((home + s) % 4, (home + s + 1) % 4) for s in range(1, 4)]
