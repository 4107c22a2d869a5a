"""Tells the relay what a rank does beside its messages: seconds of computing, and bytes of memory.

For programs that stand for larger ones, and for the checks' own code around a student's: nobody's wall-clock time is
measured.
"""

from __future__ import annotations

import threading
from typing import Protocol

from labkit.relay import wire


class Speaker(Protocol):
    """The way from a rank to the relay (`labkit.relay.connection.Connection`)."""

    def say(self, kind: int, meta: dict) -> None:
        """Say something that needs no answer."""

    def inquire(self, to: str, question):
        """Ask the judge of the case."""


_process: list[Speaker] = []  # the rank that this process is
_thread = threading.local()  # or the rank that a thread is


def speak_through(speaker: Speaker, thread: bool = False) -> None:
    """Makes `speaker` the connection through which this process charges. thread: this thread alone."""
    if thread:
        _thread.speaker = speaker
    else:
        _process[:] = [speaker]


def speaker() -> Speaker:
    """This rank's. Raises RuntimeError where nobody keeps virtual time."""
    found = getattr(_thread, "speaker", None) or next(iter(_process), None)
    if found is None:
        raise RuntimeError("virtual time is kept for ranks on the relay only: run the function with labkit.simulation")
    return found


def compute(seconds: float, label: str = "") -> None:
    """This rank computes for so many virtual seconds; what it has begun to send and receive goes on meanwhile.

    label: a few letters for the timeline, for example "F3". Raises ValueError for negative seconds, RuntimeError for a
    process that is no rank on the relay.
    """
    if not seconds >= 0:
        raise ValueError(f"computing takes {seconds} seconds: time does not run backwards")
    speaker().say(wire.COMPUTE, {"seconds": float(seconds), "label": label})


def ask(to: str, question):
    """The judge's answer to plain data: what no rank holds, and pays for in virtual time when it asks for it.

    to: which of the case's answers (`autograder.case.Case.answers`). Raises RuntimeError as `compute` does.
    """
    return speaker().inquire(to, question)


def alive(nbytes: int) -> None:
    """From now on this rank holds so many bytes of whatever is being counted. Raises as `compute` does."""
    if nbytes < 0:
        raise ValueError(f"{nbytes} bytes: freed more than there was")
    speaker().say(wire.HOLDS, {"bytes": int(nbytes)})
