"""The outcome of a run on the relay: each rank's value, what it printed, what it sent and when."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from labkit.relay import wire
from labkit.watch import hang
from labkit.watch.events import Event

MAX_PRINTED = (
    256 << 10
)  # characters a rank prints; `labkit.launch.rank_program` cuts off what is more than a quarter of it
MAX_LINES = 2000  # that are kept of a rank in one case


@dataclass
class RankOutcome:
    """One rank's part of the outcome, as the relay saw it."""

    state: str = (
        "late"  # "late", "running", "waiting", "polling", "returned", "raised", "dead", "gone" (`ProgressEngine.kills`)
    )
    value: Any = None
    after: tuple = ()
    changed: tuple[dict[str, str], ...] = ()  # arguments (`labkit.launch.arguments.Change`), as the rank says
    error: dict = field(default_factory=dict)  # type, text, rows of a rank that raised
    clock: float = 0.0
    busy: float = 0.0  # virtual seconds of computing
    memory: tuple[tuple[float, int], ...] = ()  # (virtual seconds, bytes alive from then on)
    sends: int = 0
    sent_bytes: int = 0
    recvs: int = 0
    received_bytes: int = 0
    collectives: list[str] = field(default_factory=list)
    collective_bytes: int = 0
    # bytes beside the events: Horovod's, which only the rank sees; inf: MPI calls that are no longer on record
    carried: float = 0.0
    unwaited: int = 0
    deferred: int = 0  # waits that the program itself asked for, some time after it had begun the operation
    printed: int = 0  # characters
    lines: int = 0
    # what a probe in the rank has seen (`probes.script`); "arrived": when, by the clock of this process
    notes: list[tuple[dict, bytes]] = field(default_factory=list)
    notes_left: int = 0  # bytes of notes that the rank may still send

    def record(self, kind: int, meta: dict, payload: bytes) -> list[str]:
        """Note what the rank has said; returns the lines that it has printed. kind: PRINT, NOTE, RESULT or RAISED.

        Raises WireError, and whatever a record of another form gives: KeyError, TypeError, ValueError.
        """
        if kind == wire.PRINT:
            return self._lines(meta)
        if kind == wire.NOTE:
            self._note(meta, payload)
        elif kind == wire.RESULT:
            self.value, self.after = wire.decode(meta["value"], payload)
            self.changed = tuple(_change(one) for one in list(meta.get("changed", []))[:20])
            self.state = "returned"
        elif kind == wire.RAISED:
            rows = [str(row)[:300] for row in list(meta.get("rows", []))[:8]]
            self.error = {"type": str(meta.get("type"))[:200], "text": str(meta.get("text"))[:2000], "rows": rows}
            self.state = "raised"
        else:
            raise wire.WireError("a record of unknown type")
        return []

    def _note(self, meta: dict, payload: bytes) -> None:
        """Raises WireError where no notes are expected, or no more."""
        self.notes_left -= len(payload) + len(repr(meta))
        if self.notes_left < 0:
            raise wire.WireError("more notes than expected")
        self.notes.append(({**meta, "arrived": time.monotonic()}, payload))

    def _lines(self, meta: dict) -> list[str]:
        """The lines of which `MAX_LINES` are left: no exercise looks at as many, and the rest would only cost time.
        Raises WireError where a rank prints more than it should be able to."""
        text = str(meta.get("text", ""))
        self.printed += len(text) + 1
        if self.printed > MAX_PRINTED:
            raise wire.TooMuch(f"more than {MAX_PRINTED} printed characters")
        lines = text.split("\n")[: MAX_LINES - self.lines]
        self.lines += len(lines)
        return lines


def _change(said: dict) -> dict[str, str]:
    return {name: str(said[name])[:100] for name in ("name", "where", "what", "kind")}


@dataclass
class Outcome:
    """The end of a case. hang: a report, or None. too_slow: the deadline passed while a rank was running. slowed: how
    many times their usual processor time computations took meanwhile, at worst (`labkit.watch.pace`).

    link_bytes: that went over links of each class, "inside" nodes and "between" them; of a collective, what the
    library's algorithm sends.
    """

    ranks: list[RankOutcome]
    printed: list[tuple[int, str]]
    events: list[Event]
    hang: hang.HangReport | None
    too_slow: bool
    link_bytes: dict[str, float] = field(default_factory=dict)
    slowed: float = 1.0

    @property
    def memory(self) -> list | None:
        """For each rank the pairs (virtual seconds, bytes alive from then on) that `labkit.timeline.draw` takes; None
        where no rank has counted."""
        return [rank.memory or None for rank in self.ranks] if any(rank.memory for rank in self.ranks) else None

    @property
    def elapsed(self) -> float:
        """Virtual seconds until the last rank returned."""
        return max((r.clock for r in self.ranks), default=0.0)
