"""Cases on real Horovod: forked ranks that talk over loopback through Horovod's own gloo, watched from two sides.

The *leader* (`labkit.launch.leader`) runs Horovod's rendezvous, forks the ranks and looks at the processor time of
each. Ranks that compute nothing for four seconds stand still, however busy the machine is: the leader then asks each
for the line it stands at. (Horovod's own stall inspector stays silent with gloo.) The *client* (`run`) collects what
the ranks return and turns a standstill into words.
"""

from __future__ import annotations

import contextlib
import re
import selectors
from collections.abc import Sequence

from labkit.launch.horovod_rendezvous import WINDOWS
from labkit.launch.launcher import Launcher, Limits
from labkit.relay import wire
from labkit.relay.outcome import Outcome, RankOutcome
from labkit.watch import hang
from labkit.watch.events import RankState
from labkit.watch.pace import Deadline
from labkit.watch.stacks import frames, horovod_operation, sends_an_object

GRACE = 0.5  # seconds the other ranks have after one has raised or died, to say the same


def run(
    launcher: Launcher,
    jobs: Sequence[tuple[dict, bytes]],
    *,
    ranks_per_node: int = 0,
    limits: Limits | None = None,
    notes: int = 0,
    windows: int = WINDOWS,
) -> tuple[Outcome, list[dict]]:
    """Run one case. ranks_per_node: 0 for one node; otherwise `hvd.local_rank()` counts within nodes of so many ranks.

    notes: bytes of notes that each rank may send while it runs (`probes.script`). windows: so many seconds without work
    are a standstill.
    """
    limits = limits or Limits()
    case = launcher.case(len(jobs), limits, horovod={"ranks_per_node": ranks_per_node, "windows": windows})
    ranks = [RankOutcome("running", notes_left=notes) for _ in jobs]
    printed: list[tuple[int, str]] = []
    end = Deadline(limits.deadline)
    try:
        for sock, (job, payload) in zip(case.sockets, jobs, strict=True):
            with contextlib.suppress(OSError):
                wire.send(sock, wire.JOB, job, payload)
        stacks, too_slow = _watch(case, ranks, printed, end)
    finally:
        ends = case.end()
    labels = {label for job, _ in jobs for label, _, _ in job["chunks"]}
    if stacks is not None and any(_in_its_own_code(str(stack), labels) for stack in stacks.values()):
        stacks, too_slow = None, True  # asleep, which is no business of Horovod's
    outcome = _outcome(ranks, printed, stacks, too_slow, labels)
    outcome.slowed = end.worst
    launcher.still_there(outcome, ends)
    return outcome, ends


def _watch(case, ranks: list[RankOutcome], printed, end: Deadline) -> tuple[dict | None, bool]:
    """Collect until all ranks have ended, stand still, or time is up: (where they stand or None, too slow)."""
    with selectors.DefaultSelector() as selector:
        for r, sock in enumerate(case.sockets):
            sock.settimeout(20)
            selector.register(sock, selectors.EVENT_READ, (r, wire.Inbox(sock)))
        selector.register(case.lifeline, selectors.EVENT_READ, (None, None))
        lost = False
        while any(rank.state == "running" for rank in ranks):
            left = end.left()
            if left <= 0:
                return None, not lost
            for key, _ in selector.select(min(left, 0.5)):
                r, inbox = key.data
                try:
                    if r is None:
                        for stall in case.windows():
                            return dict(stall["stacks"]), False
                        continue
                    for kind, meta, payload in inbox.frames():
                        printed.extend((r, line) for line in ranks[r].record(kind, meta, payload))
                        if kind == wire.RESULT:
                            ranks[r].carried = float(meta.get("carried", 0.0))
                except (wire.Closed, wire.WireError, KeyError, TypeError, ValueError):
                    selector.unregister(key.fileobj)
                    if r is not None and ranks[r].state == "running":
                        ranks[r].state = "dead"
            if not lost and any(rank.state in ("raised", "dead") for rank in ranks):
                lost, end = True, end if end.left() < GRACE else Deadline(GRACE)
    return None, False


_MISMATCH = {"shape": "mismatched_shape", "data type": "mismatched_dtype", "root rank": "mismatched_collective"}


def _outcome(ranks: list[RankOutcome], printed, stacks: dict | None, too_slow: bool, labels: set[str]) -> Outcome:
    errors = [rank.error for rank in ranks if rank.state == "raised"]
    mismatch = next((str(e["text"]) for e in errors if "Mismatched" in str(e["text"])), "")
    if mismatch:
        for rank in ranks:
            rank.state = "running"
        text = mismatch[mismatch.index("Mismatched") :].split("\n")[0].split(" [[")[0]
        kind = next((name for word, name in _MISMATCH.items() if word in text), "mismatched_collective")
        return Outcome(ranks, printed, [], hang.HangReport(kind, hang.KINDS[kind], (f"Horovod: {text}",)), False)
    # Once a rank is gone, Horovod fails on all others: only the first cause counts.
    if any(rank.state == "dead" for rank in ranks) or not all(_is_echo(e) for e in errors):
        for rank in ranks:
            if rank.state == "raised" and _is_echo(rank.error):
                rank.state = "running"
    return Outcome(ranks, printed, [], _explain(ranks, stacks, labels) if stacks is not None else None, too_slow)


def _is_echo(error: dict) -> bool:
    """True if the error only says that Horovod failed on another rank."""
    return error["type"] == "HorovodInternalError" or "Horovod has been shut down" in str(error["text"])


def _explain(ranks: list[RankOutcome], stacks: dict, labels: set[str]) -> hang.HangReport:
    """From where every rank stands to a verdict in words."""
    states = []
    for r, rank in enumerate(ranks):
        if rank.state != "running":
            states.append(RankState(r, rank.state))
            continue
        kind, line = _where(str(stacks.get(str(r), "")), labels)
        states.append(RankState(r, "waiting", kind=kind, line=line))
    report = hang.explain(states)
    if report.kind not in (
        "missing_rank",
        "mismatched_collective",
        "raised",
        "rank_died",
    ):  # the same call, but not the same tensor
        objects = all(sends_an_object(_own_thread(str(stacks.get(str(r), "")))) for r in range(len(ranks)))
        kind = "unnamed_objects" if objects else "mismatched_collective"
        return hang.HangReport(kind, hang.KINDS[kind], report.rows)
    return report


def _in_its_own_code(stack: str, labels: set[str]) -> bool:
    """True if a rank stands in a line of the student's, or in a built-in function that it calls, as `time.sleep`."""
    innermost = next(iter(frames(_own_thread(stack))), None)
    return innermost is not None and innermost[0] in labels


def _own_thread(stack: str) -> str:
    """The part of a stack of all threads in which the student's function runs."""
    sections = [s for s in re.split(r"^(?:Current t|T)hread ", stack, flags=re.MULTILINE) if " in run_rank\n" in s]
    return sections[-1] if sections else ""


def _where(stack: str, labels: set[str]) -> tuple[str, str]:
    """(the Horovod operation a rank waits in, the student's line) of a stack of all its threads."""
    mine = _own_thread(stack)
    line = next((f"{file}, line {number}" for file, number, _ in frames(mine) if file in labels), "")
    return horovod_operation(mine) or "a Horovod operation", line
