"""When the ranks of a cell stand still after one of them has raised: only ranks that wait in communication do."""

from types import SimpleNamespace

import pytest

from labkit.ranks import magic
from labkit.watch import recorder

ANSWERED = SimpleNamespace(rank=0, is_done=lambda: True)
UNANSWERED = SimpleNamespace(rank=1, is_done=lambda: False)


@pytest.fixture
def stillness(tmp_path, monkeypatch):
    """A look at rank 1, whose reply has not come, every half second."""
    clock = iter(0.5 * k for k in range(100))
    monkeypatch.setattr(magic, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(recorder, "_recorder", None)
    recorder.open(tmp_path, 1, 2)
    return magic._Stillness(SimpleNamespace(flight=tmp_path))


def look(stillness) -> float:
    return [stillness.since([ANSWERED, UNANSWERED]) for _ in range(6)][-1]


def test_a_rank_that_waits_stands_still(stillness):
    recorder.mark("running")
    recorder.begin("recv", peer=0)
    assert look(stillness) > magic._GRACE


@pytest.mark.parametrize("state", ["raised", "returned", "running"])
def test_a_rank_whose_reply_is_on_the_way_does_not(stillness, state):
    """On a busy machine it may take seconds; to end the ranks meanwhile would cost the student their variables."""
    recorder.mark(state)
    assert look(stillness) < magic._GRACE
