"""Ranks that serve the cases of one student one after the other: forking and ending a process costs more than most
cases do.

Every case executes the student's source anew in a fresh namespace, with a new process group and new seeds. What a case
leaves behind in its processes (a patched module, a thread, used-up processor time) is the student's own doing; and a
case that fails in ranks that have served before is run again in fresh ones (`autograder.judging.judge`), so sharing
never costs a point.
"""

from __future__ import annotations

from collections.abc import Sequence

from labkit.launch.launcher import Launcher, Limits
from labkit.relay.network import Relay
from labkit.relay.outcome import Outcome


class RankSet:
    """`most` ranks that wait in one case of the launcher for jobs over the relay. withheld: functions of labkit whose
    files they cannot read in a jail."""

    def __init__(
        self, launcher: Launcher, most: int, limits: Limits, together: bool = False, withheld: Sequence[str] = ()
    ):
        self.launcher, self.most, self.limits, self.served = launcher, most, limits, 0
        self._how = together, tuple(withheld)
        self._case = launcher.case(most, limits, together=together, withheld=withheld)

    def serves(self, world_size: int, limits: Limits, together: bool, withheld: Sequence[str] = ()) -> bool:
        """True if these ranks can run a case of that size, with these limits."""
        same = limits == self.limits and (together, tuple(withheld)) == self._how
        return self._case is not None and world_size <= self.most and same

    def run(self, jobs: Sequence[tuple[dict, bytes]], **network) -> tuple[Outcome, list[dict]]:
        """Run a case on the first len(jobs) ranks. network: topology, late, seed, kills and answers of the relay.

        Returns and raises what `Launcher.run` does; how the processes ended is known only if the case has ended them.
        """
        watched = {"case": self._case, "patience": self.limits.patience}
        outcome = Relay(
            self._case.sockets[: len(jobs)], jobs, deadline=self.limits.deadline, **watched, **network
        ).run()
        self.served += 1
        if (
            outcome.hang is None
            and not outcome.too_slow
            and all(r.state == "returned" and not r.unwaited for r in outcome.ranks)
        ):
            return outcome, [{} for _ in jobs]
        ends = self.close()
        self.launcher.still_there(outcome, ends)
        return outcome, ends

    def close(self) -> list[dict]:
        """End the ranks; returns how each one ended."""
        case, self._case = self._case, None
        return case.end() if case is not None else []
