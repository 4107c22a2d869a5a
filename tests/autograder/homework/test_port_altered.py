"""What the ranks of a port send, altered on its way, and what is made of gradients and weights that follow it or not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from autograder.homework.port import used
from autograder.homework.port.altered import FACTORS, FEW, Altered, secret_of
from autograder.homework.port.runs import ObservedRank, ObservedRun, RecordedUpdate, RunSetting
from labkit.relay.outcome import Outcome, RankOutcome

SIZE = 400
RANDOM = np.random.default_rng(5)
OWN = RANDOM.normal(size=(2, SIZE)).astype(np.float32)  # of each rank
WEIGHTS = RANDOM.normal(size=SIZE).astype(np.float32)


def message(rank: int, values: np.ndarray, kind: str = "all_reduce", dtype: str = "float32", peer: int | None = None):
    return SimpleNamespace(rank=rank, kind=kind, dtype=dtype, peer=peer, payload=values.tobytes(), data=b"")


def summed(altered: Altered, values: np.ndarray) -> np.ndarray:
    """What two ranks get from a sum of what they hand over."""
    ops = [message(r, values[r]) for r in range(2)]
    for op in ops:
        op.payload = altered.handed(op)
    total = sum(np.frombuffer(op.payload, np.float32) for op in ops)
    for op in ops:
        op.data = total.tobytes()
    altered.arrives(ops)
    return total


def run(altered: Altered, gradients, weights=(WEIGHTS, WEIGHTS), **setting) -> ObservedRun:
    """A run of one step. gradients, weights: of each rank."""
    ranks = []
    for gradient, before in zip(gradients, weights, strict=True):
        step = RecordedUpdate([], [], 0.02, gradient=np.asarray(gradient), weights=np.asarray(before))
        ranks.append(ObservedRank(steps=[step], shapes=[(SIZE,)]))
    outcome = Outcome([RankOutcome("returned") for _ in range(2)], [], [], None, False)
    return ObservedRun(RunSetting(2, 64, **setting), {}, 0.01, "", ranks, outcome, [{}] * 2, "port.py", altered=altered)


def crossed() -> list[np.ndarray]:
    """Equal weights on both ranks: the gradient depends on the images alone."""
    return [np.stack([OWN, OWN])]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_each_message_is_multiplied_by_a_number_of_its_own(dtype):
    altered, values = Altered(secret_of("a key"), "all"), np.ones(SIZE, dtype)
    factors = []
    for rank in (0, 1, 0):
        got = np.frombuffer(altered.handed(message(rank, values, dtype=np.dtype(dtype).name)), dtype)
        assert got.min() == got.max() and FACTORS[0] <= got[0] <= FACTORS[1]
        factors.append(got[0])
    assert len(set(factors)) == 3 and altered.bytes == 3 * values.nbytes
    again = Altered(secret_of("another key"), "all").handed(message(0, values, dtype=np.dtype(dtype).name))
    assert np.frombuffer(again, dtype)[0] != factors[0]


def test_half_of_single_precision_is_multiplied_too():
    ones = np.full(SIZE, 0x3F80, np.uint16)  # 1 as bfloat16
    got = np.frombuffer(Altered(secret_of("a key"), "all").handed(message(0, ones, dtype="bfloat16")), np.uint16)
    assert got.min() == got.max() < 0x3F80


def test_few_bytes_and_integers_stay_as_they_are_and_so_does_all_in_other_runs():
    altered = Altered(secret_of("a key"), "all")
    few, whole = message(0, np.ones(FEW // 4, np.float32)), message(0, np.arange(SIZE), dtype="int64")
    assert altered.handed(few) == few.payload and altered.handed(whole) == whole.payload
    assert altered.bytes == 0 and altered.untouched == len(whole.payload)
    sums, op = Altered(secret_of("a key"), "sums"), message(0, WEIGHTS, "broadcast")
    assert sums.handed(op) == op.payload and sums.handed(message(0, WEIGHTS)) != op.payload
    nothing = Altered(secret_of("a key"), "")
    assert nothing.handed(op) == op.payload and nothing.bytes == 0


def test_what_all_ranks_bring_alike_to_a_sum_is_counted():
    for values, alike in ((OWN, 0), (np.stack([OWN[0], OWN[0] * np.float32(1 + 1e-6)]), 8 * SIZE)):
        altered = Altered(secret_of("a key"), "")
        summed(altered, values)
        assert altered.alike == alike


@pytest.mark.parametrize("divisor", [1, 2, 8, 16])
def test_gradients_that_arrived_are_used_whatever_they_are_divided_by(divisor):
    altered = Altered(secret_of("a key"), "all")
    mean = summed(altered, OWN) / np.float32(divisor)
    assert used.gradients_of(run(altered, [mean, mean]), crossed) == ("", "")


def test_gradients_that_two_ranks_exchange_are_used():
    altered, applied = Altered(secret_of("a key"), "all"), []
    for r in (0, 1):
        came = np.frombuffer(altered.handed(message(1 - r, OWN[1 - r], "send", peer=r)), np.float32)
        applied.append((OWN[r] + came) / 2)
    assert used.gradients_of(run(altered, applied), crossed) == ("", "")


def noise() -> Altered:
    """What is sent is used by nobody."""
    altered = Altered(secret_of("a key"), "all")
    summed(altered, RANDOM.normal(size=(2, SIZE)).astype(np.float32))
    return altered


def test_gradients_as_if_nothing_had_been_altered_are_not_used():
    mean = OWN.mean(axis=0)
    assert used.gradients_of(run(noise(), [mean, mean]), crossed)[0] == "gradients_not_used"
    altered = Altered(secret_of("a key"), "all")
    summed(altered, OWN)  # the right ones are sent, and what arrives is thrown away
    assert used.gradients_of(run(altered, [mean, mean]), crossed)[0] == "gradients_not_used"


def test_what_is_known_neither_way_waits_for_a_person():
    mean, other = OWN.mean(axis=0), RANDOM.normal(size=SIZE)
    assert used.gradients_of(run(noise(), [other, other]), crossed)[0] == used.UNKNOWN
    assert used.gradients_of(run(noise(), [mean, mean]), lambda: "no reason")[0] == used.UNKNOWN
    packed = Altered(secret_of("a key"), "all")  # pickled
    for r in (0, 1):
        packed.handed(message(r, OWN[r].view(np.uint8), "all_gather", "uint8"))
    assert used.gradients_of(run(packed, [mean, mean]), crossed)[0] == used.UNKNOWN


def on_horovod(came=1.0, numbers=((0, 1), (2, 3)), brought=((400, 2.0, 1.0), (400, 2.1, 1.0))) -> ObservedRun:
    """A run of one step. numbers, brought: of each rank."""
    one = run(None, OWN)
    for rank, images, sums in zip(one.ranks, numbers, brought, strict=True):
        rank.steps[0].came, rank.steps[0].numbers, rank.steps[0].brought = came, list(images), [sums]
    return one


def test_gradients_that_horovod_has_not_given_back_wait_for_a_person():
    assert used.given_back(on_horovod()) is None and used.given_back(on_horovod(float("nan"))) is None
    assert used.given_back(on_horovod(0.1))[0] == used.UNKNOWN


def test_what_all_ranks_bring_alike_to_horovod_on_other_images_is_not_their_own():
    alike = ((400, 2.0, 1.0), (400, 2.0001, 1.0))
    assert used.brought_alike(on_horovod()) == 0
    assert used.brought_alike(on_horovod(brought=alike)) == 400
    assert used.brought_alike(on_horovod(brought=alike, numbers=((0, 1), (0, 1)))) == 0


def broadcast(values: np.ndarray, dtype: str = "float32") -> tuple[Altered, bytes]:
    """What rank 0 sends to rank 1: (the altering, what has come)."""
    altered, op = Altered(secret_of("a key"), "all"), message(0, values, "broadcast", dtype)
    other = message(1, np.zeros(0), "broadcast", dtype)
    op.payload = altered.handed(op)
    op.data = other.data = op.payload
    altered.arrives([op, other])
    return altered, op.payload


def test_weights_that_arrived_are_used():
    altered, came = broadcast(WEIGHTS)
    weights = WEIGHTS, np.frombuffer(came, np.float32)
    assert used.weights_of(run(altered, OWN, weights)) == ("", "")
    assert used.weights_of(run(altered, OWN, weights[::-1])) == ("", ""), "of whatever root"
    packed, _ = broadcast(np.frombuffer(b"a pickle: " + WEIGHTS.tobytes(), np.uint8), "uint8")
    assert used.weights_of(run(packed, OWN)) == ("", "")


def test_weights_that_are_equal_whatever_arrived_are_not_used():
    for sent in (WEIGHTS, RANDOM.normal(size=SIZE).astype(np.float32)):
        assert used.weights_of(run(broadcast(sent)[0], OWN))[0] == "broadcast_not_used"
    other = RANDOM.normal(size=SIZE)
    assert used.weights_of(run(broadcast(WEIGHTS)[0], OWN, (WEIGHTS, other)))[0] == used.UNKNOWN
    assert used.weights_of(run(broadcast(WEIGHTS)[0], OWN, shared=True))[0] == used.UNKNOWN, "through a file"
