"""Shares of data sets and steps of ranks under Horovod: units 07 and 09."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from autograder.exercise import Case, Exercise, Finding, Mistake, Run
from autograder.exercises.kinds import on_ranks
from autograder.exercises.readings.contributions import returned


class SharesExercise(Exercise):
    """Every rank takes a share of some data sets, in minibatches, and says in how many steps. Two ranks are on a
    machine.

    right_steps(n, batch, p): how many steps are right. broken(reports, n, batch, right): (name, where) for what is
    wrong with the shares of one data set, in the order in which it is to be mended; reports: one per rank.
    """

    talks = False  # every rank is handed all samples; only the harness compares what they took
    runtime = "horovod"
    right_steps: Callable[[int, int, int], int]
    steps_mistakes = [
        Mistake("not_whole", "The number of steps is not a whole number.",
                "Divide with `//`: a step that not all ranks can fill is none."),
        Mistake("unequal_steps", "The ranks make different numbers of steps. In the first step that one of them does "
                "not make, the others wait forever.",
                "The number must follow from what all ranks know: n, the batch size and hvd.size()."),
        Mistake("steps_of_one_process", "This is the number of steps of one process that has all the data to itself.",
                "One step of all ranks uses hvd.size() minibatches: divide by hvd.size() too."),
        Mistake("not_sharded", "All ranks see the same samples: more ranks do the same work more often.",
                "Each rank takes its own part: `dataset.shard(num_shards=hvd.size(), index=hvd.rank())`."),
        Mistake("by_local_rank", "Ranks with the same local rank on different machines see the same samples, and the "
                "other samples are never seen.",
                "A shard belongs to a rank, not to a place in a machine: `index=hvd.rank()`, `num_shards=hvd.size()`."),
    ]  # fmt: skip

    def broken(self, reports, n: int, batch: int, right: int) -> Iterator[tuple[str, str]]:
        raise NotImplementedError

    def case(self, rng, level: str, p: int, sizes, says: str, draw=lambda samples: samples) -> Case:
        """Each data set has n samples, numbers of up to three digits."""
        says += "; ".join(f"n = {n}, minibatches of {batch}" for n, batch in sizes)
        known = {"asked": [(draw(rng.permutation(1000)[:n]), batch) for n, batch in sizes], "sizes": sizes}
        return on_ranks(level, p, "asked", known, says, ranks_per_node=2)

    def alike(self, reports, case: Case) -> bool:
        """True if ranks that share samples may have seen all the same."""
        return True

    def facts(self, case: Case, run: Run):
        reports, p = list(zip(*returned(run), strict=True)), case.world_size  # for each data set, one per rank
        for one, (n, batch) in zip(reports, case.known["sizes"], strict=True):
            right = self.right_steps(n, batch, p)
            for name, where in itertools.chain(self._steps(one, n, batch, right), self.broken(one, n, batch, right)):
                name = self._sharing(reports, case) if name == "overlap" else name
                return Finding(name, f"With n = {n} and minibatches of {batch}: {where}") if name else None
        return None

    @staticmethod
    def _steps(reports, n, batch, right) -> Iterator[tuple[str | None, str]]:
        p, steps = len(reports), [float(report["steps"]) for report in reports]
        made = f"{', '.join(f'{one:.3g}' for one in sorted(set(steps)))} steps instead of {right}."
        if steps[0] != int(steps[0]):
            yield "not_whole", made
        if len(set(steps)) > 1:
            yield "unequal_steps", made
        names = {n // batch: "steps_of_one_process", -(-n // batch): "steps_of_one_process"}
        names |= {n // (batch * p): "rounded_down", -(-n // (batch * p)): "rounded_up"}
        if steps[0] != right:
            yield names.get(steps[0]), made

    @staticmethod
    def sharing(reports) -> Iterator[tuple[str, str]]:
        """(name, sentence) for each rank that sees samples which others see, too."""
        for rank, report in enumerate(reports):
            if report["shares samples with"]:
                yield "overlap", f"rank {rank} and rank {', '.join(map(str, report['shares samples with']))}."

    def _sharing(self, reports, case) -> str:
        """The name of what is wrong where ranks share samples."""
        shared = [[report["shares samples with"] for report in one] for one in reports]
        ranks = range(case.world_size)
        for name, near in (("not_sharded", 1), ("by_local_rank", 2)):
            expected = [[q for q in ranks if q != r and q % near == r % near] for r in ranks]
            if any(map(any, shared)) and all(one == expected for one in shared if any(one)):
                if near == 2 or self.alike(reports, case):
                    return name
        return "overlap"
