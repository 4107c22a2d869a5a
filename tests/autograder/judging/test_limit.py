"""The judge's own work has a limit: what a run has left behind may cost it seconds, and no more."""

from __future__ import annotations

import signal
import threading

import pytest

from autograder.exercise import RankRun, Run, drawn
from autograder.exercises.readings.messages import time_without_barriers
from autograder.exercises.readings.sharding import not_sent
from autograder.judging import case as judging
from autograder.judging import limit
from autograder.registry import find
from labkit.relay import wire
from labkit.relay.outcome import MAX_LINES, MAX_PRINTED, Outcome, RankOutcome
from labkit.watch.events import COMPUTE, Event

MANY = 20_000


def events(kinds: tuple[str, ...]) -> tuple[Event, ...]:
    return tuple(Event(0, kinds[k % len(kinds)], float(k), float(k), k + 0.5, nbytes=0) for k in range(MANY))


def test_a_comparison_without_end_is_too_much(monkeypatch):
    def endless(*_):
        while True:
            try:
                sum(range(1000))
            except Exception:  # as whoever takes every failure for the answer's
                continue

    before = signal.getsignal(signal.SIGPROF)
    monkeypatch.setattr(judging, "wrong_or_odd", endless)
    monkeypatch.setattr(judging, "processor_time", lambda: limit.processor_time(0.2))
    exercise = find("mean_over_ranks")
    case = drawn(exercise)[0]
    outcome = Outcome([RankOutcome("returned")] * case.world_size, [], [], None, False)
    result = judging.judge_case(exercise, case, outcome, [])
    assert (result.verdict, result.diagnosis) == ("wrong", "too_much") and result.why and result.differs
    assert signal.getsignal(signal.SIGPROF) == before and signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_outside_of_the_main_thread_nothing_fails():
    said = []

    def work():
        with limit.processor_time(0.01):
            said.append(sum(range(3_000_000)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert said


def test_readings_take_time_in_proportion_to_the_events():
    with limit.processor_time(3.0):
        assert not_sent(Run((RankRun(None),), events=events((COMPUTE, "barrier"))), 0, 8.0) == MANY // 2 - 1
        barriers = Run((RankRun(None),), elapsed=float(MANY), events=events(("barrier", "send")))
        assert time_without_barriers(barriers) == MANY - MANY // 4


def test_of_a_flood_of_lines_the_first_are_kept():
    rank = RankOutcome("running")
    kept = rank.record(wire.PRINT, {"text": "\n" * (MAX_LINES - 10)}, b"")
    kept += rank.record(wire.PRINT, {"text": "\n" * MAX_LINES}, b"")
    assert len(kept) == MAX_LINES and not rank.record(wire.PRINT, {"text": "more"}, b"")
    with pytest.raises(wire.TooMuch):
        rank.record(wire.PRINT, {"text": "x" * MAX_PRINTED}, b"")
