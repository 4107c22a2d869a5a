"""The exercise of unit 00. It is worth no points: it is there to show how a check talks."""

from __future__ import annotations

import numpy as np

from autograder.exercise import Case, Diagnosis, Exercise


class RightNeighbour(Exercise):
    """Your right neighbour"""

    unit = "00_start_here"
    function = "right_neighbour"
    talks = False  # each rank can say it by itself
    signature = "right_neighbour(rank: int, world_size: int) -> int"
    levels = {"4 ranks": 0, "any number of ranks": 0}
    diagnoses = {
        "forgets_to_wrap": Diagnosis(
            "The last rank names a neighbour that does not exist: ranks run from 0 to world_size - 1.",
            "The ranks stand in a ring, so behind the last one comes rank 0 again. `%` wraps a number round.",
        ),
        "hard_coded_four": Diagnosis(
            "The ring is closed after 4 ranks, however many there are: a 4 stands where the world size belongs.",
            "Use `world_size`. A program never knows beforehand how many ranks it will get.",
        ),
        "turns_left": Diagnosis(
            "Every rank names its left neighbour, the one with the next smaller number.",
            "The right neighbour has the next larger number.",
        ),
        "stops_at_the_end": Diagnosis(
            "The last rank names itself: the ranks stand in a line here, not in a ring.",
            "The right neighbour of the last rank is rank 0.",
        ),
        "wraps_too_early": Diagnosis(
            "The ring is closed one rank too early: the last rank is nobody's neighbour.",
            "There are `world_size` ranks in the ring, so it is `world_size` that wraps.",
        ),
    }

    def cases(self, rng: np.random.Generator) -> list[Case]:
        sizes = {4: "4 ranks", 6: "any number of ranks", 3: "any number of ranks", 2: "any number of ranks"}
        return [Case(level, p, [(rank, p) for rank in range(p)]) for p, level in sizes.items()]

    def expected(self, case: Case) -> list:
        p = case.world_size
        return [(rank + 1) % p for rank in range(p)]

    def misconceptions(self, case: Case) -> dict[str, list | None]:
        p = case.world_size
        ranks = range(p)
        return {
            "forgets_to_wrap": [rank + 1 for rank in ranks],
            "hard_coded_four": [(rank + 1) % 4 for rank in ranks] if p > 4 else None,  # up to 4 it is right, or forgets_to_wrap
            "turns_left": [(rank - 1) % p for rank in ranks] if p > 2 else None,  # two ranks: left is right
            "stops_at_the_end": [min(rank + 1, p - 1) for rank in ranks],
            "wraps_too_early": [(rank + 1) % (p - 1) for rank in ranks],
        }
