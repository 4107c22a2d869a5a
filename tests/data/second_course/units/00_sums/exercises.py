"""Unit 00, sums."""

from __future__ import annotations

import numpy as np

from autograder.exercise import Case, Exercise, Finding, Mistake, Tensor
from autograder.exercises.kinds import PlainExercise
from autograder.values import full_precision, wide_integers


class LargestAnywhere(Exercise):
    """The largest value anywhere"""

    signature = "largest_anywhere(x: torch.Tensor) -> torch.Tensor"
    levels = {"floating point": 1, "integers": 1}
    all_hear = True
    mistakes = [
        Mistake(
            "own_values",
            "Every rank returned its own values: nobody asked the others.",
            "Check that the collective is reached and that you return its result.",
            lambda c: c.parts,
        ),
        Mistake("two_collectives", "The values are right, but it took more than one collective.", "One is enough."),
    ]

    def cases(self, rng):
        def case(level, dtype, parts, **options):
            arguments = [(Tensor(part, dtype),) for part in parts]
            says = f"{dtype}, shape {' x '.join(map(str, parts[0].shape))}"
            return Case(level, len(parts), arguments, says, known={"parts": list(parts), "dtype": dtype}, **options)

        return [
            case("floating point", "float64", full_precision(rng, -1, 1, (3, 4, 2))),
            case("floating point", "float32", rng.normal(size=(2, 5)).astype("float32"), late=(0,)),
            case("integers", "int64", wide_integers(rng, (4, 6)), late=(2,)),
            case("integers", "int32", wide_integers(rng, (3, 6), "int32")),
        ]

    def per_rank(self, case, value):
        return [Tensor(one, case.known["dtype"]) for one in value]

    def expected(self, case):
        return self.per_rank(case, [np.max(case.known["parts"], axis=0)] * case.world_size)

    def facts(self, case, run):
        for rank, did in enumerate(run.ranks):
            if len(did.collectives) > 1:
                return Finding("two_collectives", f"Rank {rank} called {', '.join(did.collectives)}.")


class MyShare(PlainExercise):
    """A fair share"""

    signature = "my_share(n: int, rank: int, world_size: int) -> int"
    levels = {"equal shares": 1, "unequal shares": 1}
    mistakes = [
        Mistake(
            "drops_the_rest",
            "Shares of n // world_size leave the last n % world_size samples to nobody.",
            "The first n % world_size ranks get one sample more.",
            lambda c: [c.n // c.world_size] * c.world_size,
        ),
    ]

    def draw(self, rng):
        for p in (3, 4):
            yield "equal shares", {"n": p * rng.integers(3, 9), "world_size": p}
            yield "unequal shares", {"n": p * rng.integers(3, 9) + 2, "world_size": p}

    def right(self, n, world_size):
        return [n // world_size + (rank < n % world_size) for rank in range(world_size)]
