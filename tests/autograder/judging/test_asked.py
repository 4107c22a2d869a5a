"""What ranks may ask the judge for, and in which form."""

import numpy as np
import pytest

from autograder.case import Answer
from labkit.relay import wire
from labkit.relay.progress import MAX_QUESTION, ProgressEngine

TOLD = Answer(lambda w, k: (1e-3, "S", float(w.sum()) + k), (((2,), "float64"), range(3)))


def test_a_question_of_its_form_is_answered():
    assert TOLD([np.ones(2), 2]) == (1e-3, "S", 4.0)


@pytest.mark.parametrize(
    "question",
    [
        5,
        [],
        [np.ones(2)],
        [np.ones(2), 0, 0],
        [np.ones(2), [0]],
        [np.ones(2), 3],
        [np.ones(2), -1],
        [np.ones(2), 1.0],
        [np.ones(2), True],
        [np.ones(2), np.arange(3)],
        [np.ones(3), 0],
        [np.ones((2, 2)), 0],
        [np.ones(2, np.float32), 0],
        [[1.0, 1.0], 0],
        {0: np.ones(2), 1: 0},
    ],
    ids=repr,
)
def test_a_question_of_another_form_is_not(question):
    with pytest.raises(ValueError, match="a (part of a )?question"):
        TOLD(question)


def test_a_long_question_is_not_read():
    engine = ProgressEngine(1, answers={"judge": lambda question: pytest.fail("it was read")})
    tagged, payload = wire.encode([np.zeros(MAX_QUESTION + 1, np.int8)])
    with pytest.raises(wire.TooMuch, match="a question of"):
        engine.handle(0, wire.ASK, {"to": "judge", "question": tagged}, payload)
