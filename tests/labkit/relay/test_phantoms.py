"""Tensors on "meta" in a lesson's run: time, bytes and order are those of real ones, and nothing is carried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.interconnect.topology import Link, nodes
from labkit.launch import launcher
from labkit.relay import operation, wire
from labkit.relay.matcher import EXCHANGES
from labkit.relay.operation import Groups
from labkit.relay.phantom import Phantom, joined
from labkit.simulation import run

pytestmark = pytest.mark.usefixtures("warm")

NETWORK = nodes(2, Link(1e-6, 1e-11), Link(5e-6, 1e-9))


def calls(name, device):
    """The tensors that one rank sends in a call of that name, and the shapes of those it gets."""
    import torch
    import torch.distributed as dist

    r, p = dist.get_rank(), dist.get_world_size()

    def tensors(*rows, dtype=torch.float32):
        return [torch.zeros(n, 3, dtype=dtype, device=device) for n in rows]

    x, one = tensors(2 * p)[0], tensors(2)[0]
    parts, half = tensors(*[2] * p), tensors(*[3] * p, dtype=torch.bfloat16)
    uneven = tensors(*range(1, p + 1))
    found = {
        "all_reduce": lambda: dist.all_reduce(x, op=dist.ReduceOp.MAX),
        "reduce": lambda: dist.reduce(x, 1),
        "broadcast": lambda: dist.broadcast(x, 2),
        "all_gather": lambda: (dist.all_gather(parts, one), dist.all_gather_single(x, one)),
        "gather": lambda: dist.gather(one, parts if r == 1 else None, dst=1),
        "scatter": lambda: dist.scatter(half[0], half if r == 1 else None, src=1),
        "reduce_scatter": lambda: (dist.reduce_scatter(one, parts), dist.reduce_scatter_single(one, x),
                                   dist.reduce_scatter(half[0].clone(), half)),
        "all_to_all": lambda: (dist.all_to_all_single(x, x.clone()),
                               dist.all_to_all(tensors(*[r + 1] * p), uneven)),
        "barrier": lambda: dist.barrier(),
        "messages": lambda: messages(dist, torch, x, device),
        "batches": lambda: [work.wait() for work in dist.batch_isend_irecv([
            dist.P2POp(dist.isend, one, (r + 1) % p), dist.P2POp(dist.irecv, x[:2], (r - 1) % p),
        ])],
        "groups": lambda: groups(dist, r, x),
    }  # fmt: skip
    found[name]()
    assert x.device.type == device and one.device.type == device
    return [list(x.shape), str(x.dtype), x.is_meta]


def messages(dist, torch, x, device):
    """A ring of isend and irecv with computing beside it, and receives from anywhere."""
    from labkit.simulation import compute

    r, p = dist.get_rank(), dist.get_world_size()
    got = torch.zeros(7, dtype=torch.int16, device=device)
    works = [dist.isend(torch.ones(7, dtype=torch.int16, device=device), (r + 1) % p), dist.irecv(got, (r - 1) % p)]
    compute(1e-6 * (r + 1))
    for work in works:
        work.wait()
    if r == 0:
        for _ in range(p - 1):
            dist.recv(x)
    else:
        compute(1e-4 * (p - r))
        dist.send(x, 0)


def groups(dist, r, x):
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    works = [dist.all_reduce(x, group=pairs[r // 2], async_op=True), dist.all_reduce(x.clone(), async_op=True)]
    for work in works:
        work.wait()


NAMES = (*EXCHANGES, "messages", "batches", "groups")


def seen(outcome):
    """All that an outcome says but the payloads."""
    ranks = [(one.state, one.sends, one.sent_bytes, one.recvs, one.received_bytes, one.collectives,
              one.collective_bytes, one.clock, one.busy) for one in outcome.ranks]  # fmt: skip
    events = sorted((replace(one, line="") for one in outcome.events), key=lambda one: one.rank)
    numbers: dict = {}  # of matches, in the order of the ranks: which process is first is the machine's affair
    events = [replace(one, match=numbers.setdefault(one.match, len(numbers))) for one in events]
    return ranks, events, outcome.link_bytes, outcome.elapsed


@pytest.mark.parametrize("name", NAMES)
def test_time_bytes_and_order_are_those_of_real_tensors(name):
    real, counted = (run(calls, 4, (name, device), topology=NETWORK, meta_tensors=True) for device in ("cpu", "meta"))
    assert real.hang is None and seen(counted) == seen(real)
    assert counted.elapsed > 0 and [one.value[2] for one in counted.ranks] == [True] * 4
    assert name == "barrier" or sum(counted.link_bytes.values()) > 0


def test_the_same_on_threads():
    real, counted = (run(calls, 66, ("all_gather", one), meta_tensors=True) for one in ("cpu", "meta"))
    assert seen(counted) == seen(real)


def all_reduces(often, elements):
    import torch
    import torch.distributed as dist

    x = torch.empty(elements, device="meta")
    for _ in range(often):
        dist.all_reduce(x)


def test_more_bytes_than_could_be_carried():
    outcome = run(all_reduces, 4, (48, 1 << 20), alpha=0.0, beta=1e-9, meta_tensors=True)
    assert [one.collective_bytes for one in outcome.ranks] == [48 * 4 << 20] * 4
    assert outcome.elapsed == pytest.approx(48 * 2 * 3 / 4 * (4 << 20) * 1e-9)
    huge = run(all_reduces, 4, (1, 1 << 40), alpha=0.0, beta=1e-9, meta_tensors=True)
    assert huge.elapsed == pytest.approx(2 * 3 / 4 * (4 << 40) * 1e-9)


def mixed(how):
    import torch
    import torch.distributed as dist

    r = dist.get_rank()
    x = torch.zeros(4, device="meta" if r == 1 else "cpu")
    if how == "message":
        dist.send(x, 1) if r == 0 else dist.recv(x, 0)
    elif how == "one call":
        dist.all_gather([torch.zeros(4), torch.zeros(4, device="meta")], torch.zeros(4))
    elif how == "scatter":
        dist.scatter(x, [torch.zeros(4), torch.zeros(4)] if r == 0 else None, src=0)
    else:
        getattr(dist, how)(x, **({} if how == "all_reduce" else {"src": 0}))


@pytest.mark.parametrize("how", ["all_reduce", "broadcast", "scatter", "message", "one call"])
def test_a_meta_tensor_that_meets_a_real_one_is_an_error_that_says_what_to_do(how):
    with pytest.raises(RuntimeError, match="all of them|all these ranks") as raised:
        run(mixed, 2, (how,), meta_tensors=True)
    if how != "one call":
        assert "rank 1 is on the device" in str(raised.value) and "of rank 0 has elements" in str(raised.value)


def wrong_type():
    import torch
    import torch.distributed as dist

    dist.all_reduce(torch.zeros(4, device="meta"), op=dist.ReduceOp.BXOR)


def wrong_size():
    import torch
    import torch.distributed as dist

    dist.all_reduce(torch.zeros(4 + dist.get_rank(), device="meta"))


def test_what_would_fail_with_elements_fails_without():
    with pytest.raises(RuntimeError, match="the reduction bxor does not work on float32"):
        run(wrong_type, 2, meta_tensors=True)
    assert run(wrong_size, 2, meta_tensors=True).hang.kind == "mismatched_shape"


def receives():
    import torch
    import torch.distributed as dist

    x = torch.zeros(4, device="meta" if dist.get_rank() else "cpu")
    dist.recv(x, 0) if dist.get_rank() else dist.send(x, 1)


@pytest.mark.parametrize(
    "function, arguments", [(calls, ("all_reduce", "meta")), (calls, ("broadcast", "meta")), (receives, ())]
)
def test_without_the_mode_they_are_refused(function, arguments):
    with pytest.raises(RuntimeError, match="the relay moves tensors of the CPU only, this one is on meta"):
        run(function, 2 if function is receives else 3, arguments)


def forged():
    from labkit.relay import charging

    charging.speaker().phantoms = True
    all_reduces(1, 4)


def test_a_rank_cannot_take_the_mode_for_itself():
    with pytest.raises(RuntimeError, match="a payload that is not there"):
        run(forged, 2)


@pytest.mark.parametrize("size", [-1, 1 << 61, "many", None])
def test_the_size_of_a_payload_is_checked(size):
    meta = {"op": "all_reduce", "group": "0", "members": [0, 1], "ticket": 1, "dtype": "float32", "shape": [1]}
    with pytest.raises((wire.WireError, ValueError, TypeError)):
        operation.read(0, {**meta, "phantom": size}, b"", Groups(2), phantoms=True)
    with pytest.raises(wire.WireError):
        operation.read(0, {**meta, "phantom": 4}, b"1234", Groups(2), phantoms=True)


def test_phantoms_are_cut_and_joined_as_bytes_are():
    whole = Phantom(10)
    assert [len(whole[a:b]) for a, b in ((0, 4), (4, 10), (8, 20))] == [4, 6, 2]
    assert len(joined([whole, b"123"])) == 13 and joined([b"1", b"23"]) == b"123"


def test_judges_never_ask_for_the_mode():
    import inspect

    assert inspect.signature(launcher.Launcher.run).parameters["phantoms"].default is False
