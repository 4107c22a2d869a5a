"""Computing takes virtual time, messages go on meanwhile, collectives queue, and latency passes beside the cards."""

import pytest

from labkit.interconnect.topology import flat, nodes
from labkit.relay import threads
from labkit.simulation import alive, compute, draw, run, topology

pytestmark = pytest.mark.usefixtures("warm")


def overlapped(async_op):
    import torch
    import torch.distributed as dist

    from labkit.simulation import compute

    x = torch.ones(1000)
    compute(1e-3 * (1 + dist.get_rank()), "F")
    work = dist.all_reduce(x, async_op=async_op)
    compute(2e-3, "B")
    if async_op:
        work.wait()
    return float(x[0])


def test_a_collective_goes_on_while_ranks_compute():
    network = flat(1e-4, 0.0)  # an all-reduce of 4 ranks: 0.6 ms
    beside = run(overlapped, 4, (True,), topology=network)
    after = run(overlapped, 4, (False,), topology=network)
    assert beside.elapsed == pytest.approx(6e-3)
    assert after.elapsed == pytest.approx(6.6e-3)
    assert [rank.busy for rank in beside.ranks] == pytest.approx([3e-3, 4e-3, 5e-3, 6e-3])
    assert [rank.value for rank in beside.ranks] == [4.0] * 4
    computed = [e for e in beside.events if e.kind == "compute" and e.rank == 2]
    assert [(e.label, e.started, e.ended) for e in computed] == [
        ("F", 0.0, pytest.approx(3e-3)),
        ("B", pytest.approx(3e-3), pytest.approx(5e-3)),
    ]


def two_at_once():
    import torch
    import torch.distributed as dist

    works = [dist.all_reduce(torch.ones(1000), async_op=True) for _ in range(2)]
    for work in works:
        work.wait()


def test_collectives_of_a_group_queue():
    assert run(two_at_once, 4, topology=flat(1e-4, 0.0)).elapsed == pytest.approx(2 * 6e-4)


def a_group_per_card():
    import torch
    import torch.distributed as dist

    groups = [dist.new_group([k, k + 4]) for k in range(4)]
    mine = groups[dist.get_rank() % 4]
    dist.all_reduce(torch.ones(250_000), group=mine)


def test_groups_share_the_card_of_their_node():
    network = nodes(4, inside=(1e-6, 1e-12), between=(0.0, 1e-9))
    outcome = run(a_group_per_card, 8, topology=network)
    assert outcome.elapsed == pytest.approx(4 * 1e6 * 1e-9)  # four groups, each 2 steps of half a megabyte
    assert outcome.link_bytes == {"between": 4 * 2 * 1e6}


def many_messages(n):
    import torch
    import torch.distributed as dist

    x = torch.zeros(25)  # 100 bytes
    other = 1 - dist.get_rank()
    begin = dist.isend if dist.get_rank() == 0 else dist.irecv
    works = [begin(torch.zeros_like(x), other) for _ in range(n)]
    for work in works:
        work.wait()


def test_the_latency_of_messages_passes_beside_each_other():
    outcome = run(many_messages, 2, (10,), alpha=1e-3, beta=1e-6)
    assert outcome.elapsed == pytest.approx(9 * (1e-4 + 100e-6) + 1e-3 + 100e-6)


def first_come():
    import torch
    import torch.distributed as dist

    from labkit.simulation import compute

    r, p = dist.get_rank(), dist.get_world_size()
    if r:
        compute(1e-3 * (p - r))
        dist.send(torch.tensor(float(r)), 0)
        return None
    order, x = [], torch.zeros(())
    for _ in range(p - 1):
        order.append(dist.recv(x))
    return order


def relayed():
    """Rank 2 can send early, but only after rank 1 has told it to; rank 3 sends late and needs nobody."""
    import torch
    import torch.distributed as dist

    from labkit.simulation import compute

    r, x = dist.get_rank(), torch.zeros(())
    if r == 0:
        return [dist.recv(x), dist.recv(x)]
    if r == 1:
        dist.send(x, 2)
    elif r == 2:
        dist.recv(x, 1)
        dist.send(x, 0)
    else:
        compute(1.0)
        dist.send(x, 0)


@pytest.mark.parametrize(("program", "ranks", "order"), [(first_come, 6, [5, 4, 3, 2, 1]), (relayed, 4, [2, 3])])
def test_whoever_is_first_in_virtual_time_is_received_first(program, ranks, order):
    assert run(program, ranks).ranks[0].value == order


def a_curve():
    from labkit.simulation import alive, compute

    alive(100)
    compute(1.0)
    alive(300)
    compute(2.0)
    alive(0)


def test_memory_is_a_curve_over_virtual_time():
    assert run(a_curve, 1).ranks[0].memory == ((0.0, 100), (1.0, 300), (3.0, 0))


def test_who_is_no_rank_has_no_virtual_time():
    with pytest.raises(RuntimeError, match=r"labkit\.simulation"):
        compute(1.0)
    with pytest.raises(ValueError, match="backwards"):
        compute(-1.0)
    with pytest.raises(ValueError, match="freed more"):
        alive(-1)


def goes_back():
    from labkit.relay import charging, wire

    charging.speaker().say(wire.COMPUTE, {"seconds": -1.0, "label": ""})
    return 1


def test_time_that_runs_backwards_ends_the_rank():
    with pytest.raises(RuntimeError, match="rank 0 ended before its function did .*computing for -1.0 seconds"):
        run(goes_back, 2)


@pytest.mark.parametrize("name", ["flat", "nodes of 4", "nodes of 1"])
def test_a_network_has_a_name(name):
    assert topology(name).ranks_per_node == (4 if "4" in name else 1)


def test_an_unknown_network_is_an_error():
    with pytest.raises(ValueError, match='"nodes of 4"'):
        topology("torus")


# -- ranks that are threads ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "ranks", "arguments"),
    [(overlapped, 4, (True,)), (first_come, 6, ()), (many_messages, 2, (5,)), (a_group_per_card, 8, ())],
)
def test_threads_are_ranks_like_processes(program, ranks, arguments):
    network = nodes(4)
    forked = run(program, ranks, arguments, topology=network)
    threaded = threads.ThreadedRanks(ranks, topology=network).run(program, [arguments] * ranks)
    assert threaded.elapsed == pytest.approx(forked.elapsed, rel=1e-12)
    assert threaded.link_bytes == forked.link_bytes
    for a, b in zip(threaded.ranks, forked.ranks, strict=True):
        assert (a.value, a.sent_bytes, a.collectives, a.busy, a.unwaited) == (
            b.value,
            b.sent_bytes,
            b.collectives,
            b.busy,
            b.unwaited,
        )


def ring():
    import torch
    import torch.distributed as dist

    r, p = dist.get_rank(), dist.get_world_size()
    x, y = torch.full((4,), float(r)), torch.empty(4)
    work = dist.isend(x, (r + 1) % p)
    dist.recv(y, (r - 1) % p)
    work.wait()
    dist.all_reduce(x)
    return [float(y[0]), float(x[0])]


def test_more_ranks_than_processes():
    outcome = run(ring, 200, alpha=1e-6, beta=0.0)
    assert [rank.value for rank in outcome.ranks] == [[float((r - 1) % 200), 19900.0] for r in range(200)]
    assert outcome.elapsed == pytest.approx(1e-6 + 2 * 199 * 1e-6)


def stands_still():
    import torch
    import torch.distributed as dist

    dist.send(torch.zeros(1), (dist.get_rank() + 1) % dist.get_world_size())


def one_raises():
    import torch.distributed as dist

    if dist.get_rank() == 7:
        raise KeyError("seven")
    dist.barrier()


def test_threads_that_stand_still_are_named_and_end():
    import threading

    before = threading.active_count()
    assert run(stands_still, 65).hang.kind == "unsafe_send"
    with pytest.raises(RuntimeError, match="rank 7 raised KeyError"):
        run(one_raises, 65)
    assert threading.active_count() == before


def test_as_many_threads_as_are_possible():
    with pytest.raises(ValueError, match="4096"):
        run(ring, 5000)


@pytest.mark.parametrize(("name", "ranks"), [("flat", 4), ("nodes of 4", 8), ("nodes of 8", 8)])
def test_a_network_is_drawn_by_its_name(name, ranks):
    figure = draw(name, ranks)
    words = " ".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))
    assert ("300 GB/s" in words) == (name != "flat") and all(str(r) in words for r in range(ranks))


def swap_by(sizes):
    import torch
    import torch.distributed as dist

    n, rank = sum(sizes), dist.get_rank()
    mine = sizes if rank == 0 else sizes[::-1]
    got = torch.empty(n, dtype=torch.float64)
    dist.all_to_all_single(got, torch.ones(n, dtype=torch.float64), mine, mine)


@pytest.mark.parametrize(("sizes", "travels"), [([500, 500], 500), ([0, 1000], 1000), ([1000, 0], 0)])
def test_an_all_to_all_of_uneven_parts_costs_what_travels(sizes, travels):
    found = run(swap_by, 2, (sizes,), topology=flat(1e-6, 1e-9))
    assert found.elapsed == pytest.approx(1e-6 + 8 * travels * 1e-9)
    assert sum(found.link_bytes.values()) == 2 * 8 * travels


# -- who calls late ------------------------------------------------------------------------------


def beside_a_late_rank():
    """The others go on beside the broadcast that rank 0 is late for."""
    import torch
    import torch.distributed as dist

    others = dist.new_group([1, 2, 3])
    work = dist.broadcast(torch.ones(10), 0, async_op=True)
    if dist.get_rank():
        dist.all_reduce(torch.ones(1000), group=others)
        compute(1e-3, "F")
    work.wait()
    dist.barrier()


@pytest.mark.parametrize("network", [flat(), nodes(4), nodes(2)], ids=["flat", "one node", "two nodes"])
def test_a_late_rank_calls_at_the_time_that_the_others_have_come_to(network):
    outcome = threads.ThreadedRanks(4, topology=network, late=(0,)).run(beside_a_late_rank, [()] * 4)
    of = {kind: [e for e in outcome.events if e.kind == kind] for kind in ("all_reduce", "broadcast", "barrier")}
    computed = max(e.ended for e in outcome.events if e.kind == "compute")
    assert [e.posted for e in of["broadcast"] if e.rank == 0] == [computed]
    for kind, size in (("broadcast", 40), ("barrier", 0)):
        start = max(e.posted for e in of[kind])
        end = start + network.collective(kind, range(4)).seconds(size)
        assert [(e.started, e.ended) for e in of[kind]] == [(start, pytest.approx(end))] * 4, kind
    assert outcome.elapsed == pytest.approx(max(e.ended for e in of["barrier"]))


def a_busy_card():
    """Rank 1 sends a lot while all call an all-reduce, which needs its card, and a broadcast, which does not."""
    import torch
    import torch.distributed as dist

    x, open_ = torch.ones(1_000_000), []
    if dist.get_rank() < 2:
        open_.append(dist.isend(x, 0) if dist.get_rank() else dist.irecv(x.clone(), 1))
    compute(1e-6, "F")
    open_ += [dist.all_reduce(torch.ones(1), async_op=True), dist.broadcast(torch.ones(1), 2, async_op=True)]
    for work in open_:
        work.wait()


@pytest.mark.parametrize("network", [flat(), nodes(4), nodes(2)], ids=["flat", "one node", "two nodes"])
def test_no_collective_of_a_group_overtakes_another(network):
    outcome = threads.ThreadedRanks(4, topology=network).run(a_busy_card, [()] * 4)
    first, second = ({(e.started, e.ended) for e in outcome.events if e.kind == k} for k in ("all_reduce", "broadcast"))
    ((_, ended),), ((started, _),) = first, second
    assert started == ended
