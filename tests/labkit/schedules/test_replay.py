"""Orders of a pipeline, replayed: time, what is alive, and the first action that can never run."""

import numpy as np
import pytest
from pipeline_orders import gpipe, interleaved, one_f_one_b

from labkit.schedules import StandStill, replay


@pytest.mark.parametrize(
    ("p", "m", "v", "order", "alive"),
    [
        (4, 8, 1, gpipe, [8, 8, 8, 8]),
        (4, 8, 1, one_f_one_b, [4, 3, 2, 1]),
        (4, 8, 2, interleaved, [11, 9, 7, 5]),
        (4, 32, 1, gpipe, [32] * 4),
        (4, 32, 1, one_f_one_b, [4, 3, 2, 1]),
        (8, 16, 1, one_f_one_b, [8, 7, 6, 5, 4, 3, 2, 1]),
        (4, 8, 4, interleaved, [19, 17, 15, 13]),
    ],
)
def test_the_bubble_is_that_of_theory(p, m, v, order, alive):
    more = (v,) if v > 1 else ()
    found = replay([order(r, p, m, *more) for r in range(p)], p, m, v, 1 / v, 2 / v)
    assert found.bubble == pytest.approx((p - 1) / (v * m + p - 1), rel=1e-12)
    assert found.busy == pytest.approx(3 * m)
    assert found.elapsed == pytest.approx(3 * m + 3 * (p - 1) / v)
    assert found.alive.tolist() == alive


def test_a_hop_delays_what_comes_after_it():
    found = replay([gpipe(r, 3, 2) for r in range(3)], 3, 2, hop=0.25)
    assert found.elapsed == pytest.approx(3 * (2 + 3 - 1) + 4 * 0.25)
    assert found.starts[2][0] == pytest.approx(2 * 1.25)


def test_chunks_have_times_of_their_own():
    found = replay([gpipe(r, 2, 3) for r in range(2)], 2, 3, forward=[1.0, 3.0], backward=[2.0, 6.0])
    assert found.busy.tolist() == [9.0, 27.0]
    assert found.elapsed == 1 + 27 + 2


def test_a_backward_pass_in_two_parts():
    orders = [[("F", 0), ("B", 0), ("W", 0)], [("F", 0), ("B", 0), ("W", 0)]]
    found = replay(orders, 2, 1, forward=1.0, backward=1.0, weights=1.0)
    assert found.starts == [[0.0, 3.0, 4.0], [1.0, 2.0, 3.0]]
    assert found.memory[1] == [(0.0, 0), (1.0, 1), (4.0, 0)]


@pytest.mark.parametrize(
    ("orders", "rank", "action", "words"),
    [
        ([[("B", 0), ("F", 0)]], 0, ("B", 0, 0), "F0 of rank 0, which comes later in the same order"),
        ([[("F", 0), ("B", 0)], [("B", 0), ("F", 0)]], 1, ("B", 0, 0), "rank 1: B0, place 0 of its order"),
        (
            [[("F", 0), ("B", 0), ("F", 1), ("B", 1)], [("F", 1), ("F", 0), ("B", 0), ("B", 1)]],
            1, ("F", 1, 0), "F1 of rank 0, which waits behind B0",
        ),
    ],
)  # fmt: skip
def test_what_can_never_run_is_named(orders, rank, action, words):
    p, m = len(orders), len(orders[0]) // 2
    with pytest.raises(StandStill, match=words) as found:
        replay(orders, p, m)
    assert (found.value.rank, found.value.action) == (rank, action)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ([("F", 0), ("B", 0), ("F", 1)], "rank 0: B1 is missing"),
        ([("F", 0), ("F", 0), ("B", 0), ("B", 1)], "place 1: F0 is there twice"),
        ([("F", 0), ("F", 2), ("B", 0), ("B", 1)], r"place 1: \('F', 2\) is none"),
        ([("F", 0), ("W", 0)], r"\('W', 0\) is none"),
        (["F0", "B0"], "'F0' is none"),
        ([("F", 0, 1)], "none of this"),
        ([("F", True)], "none of this"),
    ],
)
def test_what_is_no_order_is_said(order, words):
    with pytest.raises(ValueError, match=words):
        replay([order], 1, 2)


def test_other_errors():
    with pytest.raises(ValueError, match="2 orders for 3 ranks"):
        replay([[], []], 3, 1)
    with pytest.raises(ValueError, match="at least 1"):
        replay([[]], 1, 0)
    with pytest.raises(ValueError, match="negative"):
        replay([gpipe(0, 1, 1)], 1, 1, forward=-1.0)


def test_events_and_memory_are_what_a_timeline_draws():
    from labkit import timeline

    found = replay([one_f_one_b(r, 3, 4) for r in range(3)], 3, 4)
    assert {(e.rank, e.label) for e in found.events} == {
        (r, f"{w}{k}") for r in range(3) for w in "FB" for k in range(4)
    }
    assert [max(n for _, n in curve) for curve in found.memory] == found.alive.tolist() == [3, 2, 1]
    assert "F3" in timeline.svg(found.events, 3, memory=found.memory)


def test_sixty_five_thousand_actions_are_replayed():
    p, m = 16, 2048
    orders = [one_f_one_b(r, p, m) for r in range(p)]
    found = replay(orders, p, m)
    assert sum(map(len, found.orders)) == 65_536
    np.testing.assert_allclose(found.bubble, 15 / (2048 + 15))
