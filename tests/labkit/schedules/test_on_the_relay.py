"""The bubble of real messages on the relay's virtual time: that of theory within 0.1 %, and the replay's."""

import pytest
from pipeline_orders import gpipe, interleaved, one_f_one_b

from labkit.schedules import replay
from labkit.simulation import run

pytestmark = pytest.mark.usefixtures("warm")
FORWARD, BACKWARD = 1e-3, 2e-3


def by_order(order, p, m, v):
    """Does what the order says, with numbers in place of a model."""
    import torch
    import torch.distributed as dist

    from labkit.simulation import alive, compute

    rank, last, sent, kept = dist.get_rank(), p * v - 1, [], 0

    def number(what, k, chunk):
        return (int(what == "B") * m + k) * p * v + chunk

    for what, k, j in order:
        chunk, x = rank + j * p, torch.zeros(1)
        before, after = (chunk - 1, chunk + 1) if what == "F" else (chunk + 1, chunk - 1)
        if 0 <= before <= last:
            dist.recv(x, before % p, tag=number(what, k, chunk))
        compute((1e-3 if what == "F" else 2e-3) / v, f"{what}{k}")
        kept += 1 if what == "F" else -1
        alive(kept)
        if 0 <= after <= last:
            sent.append(dist.isend(x + 1, after % p, tag=number(what, k, after)))
    for request in sent:
        request.wait()


@pytest.mark.parametrize(
    ("p", "m", "v", "order"),
    [
        (4, 8, 1, gpipe),
        (4, 8, 1, one_f_one_b),
        (4, 8, 2, interleaved),
        (4, 32, 1, gpipe),
        (4, 32, 1, one_f_one_b),
        (8, 16, 1, one_f_one_b),
        (4, 8, 4, interleaved),
    ],
)
def test_the_bubble_on_virtual_time_is_that_of_theory(p, m, v, order):
    orders = [order(r, p, m, *([v] if v > 1 else [])) for r in range(p)]
    replayed = replay(orders, p, m, v, FORWARD / v, BACKWARD / v)
    whole = [[list(action) for action in one] for one in replayed.orders]
    outcome = run(by_order, p, [(one, p, m, v) for one in whole], alpha=1e-9, beta=1e-15)
    bubble = 1 - sum(rank.busy for rank in outcome.ranks) / (p * outcome.elapsed)
    assert bubble == pytest.approx((p - 1) / (v * m + p - 1), rel=1e-3)
    assert outcome.elapsed == pytest.approx(replayed.elapsed, rel=1e-3)
    assert [max(n for _, n in steps) for steps in outcome.memory] == replayed.alive.tolist()
