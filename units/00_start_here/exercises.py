"""The exercise of unit 00. It is worth no points: it is there to show how a check talks."""

from __future__ import annotations

import numpy as np

from autograder.exercise import Case, Exercise, Mistake


class RightNeighbour(Exercise):
    """Your right neighbour"""

    talks = False  # each rank can say it by itself
    signature = "right_neighbour(rank: int, world_size: int) -> int"
    levels = {"4 ranks": 0, "any number of ranks": 0}
    mistakes = [
        Mistake("forgets_to_wrap", "The last rank names a neighbour that does not exist: ranks run from 0 to "
                "world_size - 1.",
                "The ranks form a ring, so after the last one comes rank 0 again. `%` wraps a number round.",
                lambda c: [rank + 1 for rank in range(c.p)]),
        Mistake("hard_coded_four", "The ring is closed after 4 ranks, however many there are: there is a 4 where the "
                "world size belongs.", "Use `world_size`. A program never knows beforehand how many ranks it will get.",
                lambda c: [(rank + 1) % 4 for rank in range(c.p)]),
        Mistake("turns_left", "Every rank names its left neighbour, the one with the next smaller number.",
                "The right neighbour has the next larger number.", lambda c: [(rank - 1) % c.p for rank in range(c.p)]),
        Mistake("stops_at_the_end", "The last rank names itself: the ranks stand in a line here, not in a ring.",
                "The right neighbour of the last rank is rank 0.",
                lambda c: [min(rank + 1, c.p - 1) for rank in range(c.p)]),
        Mistake("wraps_too_early", "The ring is closed one rank too early: the last rank is nobody's neighbour.",
                "There are `world_size` ranks in the ring, so it is `world_size` that wraps.",
                lambda c: [(rank + 1) % max(1, c.p - 1) for rank in range(c.p)]),
    ]  # fmt: skip

    def cases(self, rng: np.random.Generator) -> list[Case]:
        return [
            Case("4 ranks" if p == 4 else "any number of ranks", p, [(rank, p) for rank in range(p)])
            for p in (4, 6, 3, 2, 1)
        ]

    def expected(self, case: Case) -> list:
        return [(rank + 1) % case.world_size for rank in range(case.world_size)]
