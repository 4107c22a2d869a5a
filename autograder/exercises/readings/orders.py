"""Orders of a pipeline's actions: judged by replaying them, not by comparing them with ours."""

from __future__ import annotations

import itertools

from autograder.exercise import Case, Finding, Mistake, Run
from autograder.exercises.kinds import PlainExercise
from autograder.exercises.source import harness_of
from labkit.schedules import Replay, StandStill, replay

__all__ = ["OrderExercise", "in_turn", "replayed"]


class OrderExercise(PlainExercise):
    """The actions of each rank in their order: judged by replaying them, not by comparing it with ours."""

    given = ("p", "m")
    rank_at = 0
    harness = harness_of(__file__, "orders")
    ORDERS = [
        Mistake("no_actions", "The result is not a list that holds every action of the rank once.",
                'A list of ("F", k) and ("B", k), k from 0 to m - 1, each of them once.'),
        Mistake("stands_still", "This order deadlocks.",
                "An action needs what the neighbour has computed for the same micro-batch, and a backward pass its own "
                "forward pass."),
    ]  # fmt: skip
    WAITS = Mistake("waits_too_long", "The order is valid, but ranks wait longer than necessary.",
                    "Draw it: `timeline.draw(replay(orders, p, m).events, p)`.")  # fmt: skip

    def replayed(self, orders: list, p: int, m: int, **known) -> Replay:
        return replay(orders, p, m)

    def limits(self, rank: int, p: int, m: int, **known) -> int:
        """The largest number of forward passes that may be alive."""
        raise NotImplementedError

    def seconds(self, p: int, m: int, **known) -> float:
        raise NotImplementedError

    def name_of(self, ran: Replay, p: int, m: int, **known) -> str | None:
        """A better name than that too much is alive, or that it takes too long."""
        return None

    def read_right(self, answer, p, m, **known):
        try:
            ran = self.replayed(answer, p, m, **known)
        except StandStill as error:
            return Finding("stands_still", f"{str(error)[0].upper()}{str(error)[1:]}")
        except (ValueError, TypeError) as error:
            return Finding("no_actions", f"{str(error)[0].upper()}{str(error)[1:]}.")
        wanted = self.seconds(p, m, **known)
        if ran.elapsed > wanted * (1 + 1e-9):
            said = f"It takes {ran.elapsed:g} slots; {wanted:g} are enough."
            return Finding(self.name_of(ran, p, m, **known) or self.WAITS.name, said)
        for rank, alive in enumerate(ran.alive):
            limit = self.limits(rank, p, m, **known)
            if alive > limit:
                said = f"On rank {rank} {alive} forward passes wait for their backward pass at a time, not {limit}."
                return Finding(self.name_of(ran, p, m, **known) or "holds_too_many", said)
        return None


def replayed(case: Case, run: Run, **seconds: float) -> Replay:
    """The replay of the orders that an answer returned. Raises what `replay` does."""
    return replay(run.ranks[0].value, **case.known, **seconds)


def in_turn(ran: Replay) -> bool:
    """True if no two ranks ever work at the same time."""
    spans = sorted(
        (s, e) for starts, ends in zip(ran.starts, ran.ends, strict=True) for s, e in zip(starts, ends, strict=True)
    )
    return all(b >= a_end - 1e-9 for (_, a_end), (b, _) in itertools.pairwise(spans))
