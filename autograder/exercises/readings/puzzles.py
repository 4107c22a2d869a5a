"""Puzzles: orders for one small pipeline, written as text, judged by replaying them: many are right, some better."""

from __future__ import annotations

import re
from typing import Any

from autograder.exercise import Case, Finding, Mistake, Record, Run
from autograder.exercises.kinds import PlainExercise
from autograder.exercises.readings.orders import in_turn
from labkit.schedules import Replay, StandStill, replay

__all__ = ["PuzzleExercise", "records_of"]

P, M = 4, 8  # ranks, micro-batches
ACTION = re.compile(r"([FBW])(\d+)(?:\.(\d+))?")


class PuzzleExercise(PlainExercise):
    """The actions of four ranks on eight micro-batches: four strings, "F0 F1 B0 ..."; "F3.1" is of this rank's chunk 1.

    machine: what `replay` is told of it. most: forward passes that may be alive on a rank. enough: slots in which it
    has to be done. slots: those that no order can do without.
    """

    given = ()
    levels = {"within memory and time": 2}
    machine: dict[str, Any] = {}
    most: int
    enough: float
    slots: float
    mistakes = [
        Mistake("no_actions", "What came is not the work of four ranks with every action in it once.",
                'Four strings such as "F0 F1 B0 B1": each rank does every action of each of the 8 micro-batches once.'),
        Mistake("stands_still", "This order deadlocks.",
                "An action needs what the neighbour has computed for the same micro-batch, and a backward pass its own "
                "forward pass."),
        Mistake("holds_too_many", "It can be run, but a rank keeps more than it has memory for.",
                "A forward pass is alive until its last action, its `W` where there is one, else its `B`, is done: "
                "finish some before the next begins."),
        Mistake("one_at_a_time", "It can be run, but no two ranks ever work at the same time.",
                "Begin another micro-batch before the first has come back."),
        Mistake("waits_too_long", "It can be run, and the memory is enough, but ranks wait longer than they need to.",
                "Draw it with `attempt`, and look for a rank that waits while it has something to do."),
    ]  # fmt: skip

    def draw(self, rng):
        (level,) = self.levels
        yield level, {"p": P, "m": M}, {"says": f"{P} ranks, {M} micro-batches"}

    def replayed(self, answer: Any, **known: int) -> Replay:
        """Raises ValueError, TypeError for what are no orders of this machine; StandStill."""
        return replay([actions(one) for one in answer], P, M, **self.machine)

    def read_right(self, answer, **known):
        try:
            ran = self.replayed(answer)
        except StandStill as error:
            return Finding("stands_still", f"{str(error)[0].upper()}{str(error)[1:]}")
        except (ValueError, TypeError) as error:
            return Finding("no_actions", f"{str(error)[0].upper()}{str(error)[1:]}.")
        for rank, alive in enumerate(ran.alive):
            if alive > self.most:
                return Finding(
                    "holds_too_many", f"Rank {rank} keeps {alive} forward passes at a time, not {self.most}."
                )
        if ran.elapsed <= self.enough * (1 + 1e-9):
            return None
        said = f"It takes {ran.elapsed:g} slots; {self.enough:g} are enough to pass."
        named = "one_at_a_time" in self.diagnoses and in_turn(ran)
        return Finding("one_at_a_time" if named else "waits_too_long", said)


def actions(one: Any) -> list:
    """("F", 3) or ("F", 3, 1) for each word of an order. Raises ValueError for what is no word of that kind."""
    if not isinstance(one, str):
        return one
    found = []
    for word in one.split():
        match = ACTION.fullmatch(word)
        if match is None:
            raise ValueError(f"{word[:20]!r} is no action")
        found.append((match[1], int(match[2][:9]), int((match[3] or "0")[:9])))
    return found


def records_of(exercise: type[PuzzleExercise], kept: int, why: str) -> list[Record]:
    """Time, and memory among the fastest. kept: forward passes alive, the peaks of all ranks, of the best known order.
    why: nobody can be faster.
    """

    def ran(run: Run) -> Replay:
        return exercise().replayed(run.ranks[0].value)

    def memory(case: Case, run: Run) -> float | None:
        found = ran(run)
        return float(found.alive.sum()) if found.elapsed <= exercise.slots * (1 + 1e-9) else None

    return [
        Record("time", "slots", lambda case: True, lambda case, run: ran(run).elapsed, lambda case: exercise.slots,
               lambda case: exercise.slots, why),
        Record("alive on all ranks together, in that time", "", lambda case: True, memory, lambda case: kept),
    ]  # fmt: skip
