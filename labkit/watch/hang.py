"""Why nobody moves: from where every rank stands to a verdict in words.

The same reasoning serves the relay (which knows exactly who waits for whom), the flight recorder of real ranks after a
deadline, and the checks on mpi4py.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.watch.events import RankState

KINDS = {
    "deadlock": "Every rank waits for another one that waits itself, so nobody moves. "
    "Let one side go first, or post one side with isend/irecv.",
    "unsafe_send": "Every rank sends before it receives. That works only as long as the messages fit into somebody's "
    "buffer; a send may "
    "wait until it is received. Let even ranks send first and odd ranks receive first, or post one side with "
    "isend/irecv.",
    "missing_rank": "A collective is complete only when every rank of its group has called it.",
    "mismatched_collective": "All ranks of a group must call the same collectives in the same order.",
    "unnamed_objects": "`broadcast_object` without a name calls its message after the type of the object, and that is "
    "another on some ranks: they wait for different messages. Give it the same `name=` on all ranks.",
    "partial_group": "`new_group` is called by every rank of the world, for all groups in the same order, also by "
    "those ranks that are not in the group.",
    "mismatched_shape": "Both sides of a message, and all members of a collective, must agree on the number of "
    "elements.",
    "mismatched_dtype": "Both sides of a message, and all members of a collective, must agree on the data type.",
    "mismatched_tag": "A receive takes only a message with its own tag: both sides must name the same one.",
    "returned_early": "A message needs both its ends: a rank has returned while another one still waits for it.",
    "rank_died": "A rank is gone, and the others wait for it.",
    "endless_poll": "A rank asks again and again whether an operation is complete, and nobody will ever complete it.",
}

_SENDS = {"send", "isend", "ssend", "issend", "bsend", "ibsend", "rsend", "irsend"}
EQUAL_SIZES = {"allreduce", "broadcast", "bcast", "reduce", "reducescatter"}  # every member brings as much
ONE_SIDED = {"put", "accumulate", "get"}  # the other side calls nothing: no message of its own belongs to them
_RECVS = {"recv", "irecv", "mrecv", "imrecv", "probe", "iprobe", "mprobe", "improbe"}


@dataclass(frozen=True)
class HangReport:
    """kind: a key of `KINDS`, or "raised", "busy". sentence: the verdict in words. rows: one line per rank."""

    kind: str
    sentence: str
    rows: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([*self.rows, self.sentence])


def direction(kind: str) -> str:
    """ "send", "recv", or "" for a collective."""
    lower = kind.lower()
    return (
        "send"
        if lower in _SENDS or lower in ("put", "accumulate")
        else "recv"
        if lower in _RECVS or lower == "get"
        else ""
    )


def describe(state: RankState) -> str:
    """One row: "rank 0  recv from 3, tag 7 (48 B)   cell 7, line 3"."""
    what = {
        "returned": "has returned",
        "running": "is running",
        "raised": f"raised {state.detail}",
        "dead": f"is dead {state.detail}".rstrip(),
        "gone": "is gone",
    }
    text = what.get(state.state, "")
    polls = state.state == "running" and state.kind
    if state.state == "waiting" or polls:
        text = f"polls {state.kind}" if polls else state.kind
        side = direction(state.kind)
        if side == "send":
            text += f" to {state.peer}"
        elif side == "recv":
            text += " from any rank" if state.peer is None or state.peer < 0 else f" from {state.peer}"
        elif state.peer is not None and state.peer >= 0:
            text += f", root {state.peer}"
        if side and state.tag and state.tag > 0:
            text += f", tag {state.tag}"
        if state.shape is not None and state.dtype:
            text += f", {state.dtype}{list(state.shape)}"
        if state.group is not None:
            text += f", group {list(state.group)}"
    where = f"   {state.line}" if state.line else ""
    return f"rank {state.rank}  {text}{where}"


def list_ranks(ranks) -> str:
    """ "rank 2" or "ranks 0, 1 and 3"."""
    ranks = [str(r) for r in sorted(ranks)]
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(ranks[:-1])} and {ranks[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _verb(ranks, one: str, many: str) -> str:
    return one if len(ranks) == 1 else many


def explain(states: list[RankState]) -> HangReport:
    """The verdict on ranks that do not come to an end. Raises ValueError when no rank waits and none is dead."""
    by_rank = {s.rank: s for s in states}
    waiting = [s for s in states if s.state == "waiting"]
    kind, what = _verdict(by_rank, waiting)
    sentence = f"{what} {KINDS[kind]}" if kind in KINDS else what
    return HangReport(kind, sentence.strip(), tuple(describe(s) for s in sorted(states, key=lambda s: s.rank)))


def _verdict(by_rank: dict[int, RankState], waiting: list[RankState]) -> tuple[str, str]:
    dead = [r for r, s in by_rank.items() if s.state == "dead"]
    if dead:
        rest = [s.rank for s in waiting]
        after = f", while {list_ranks(rest)} {_verb(rest, 'waits', 'wait')}" if rest else ""
        return "rank_died", f"{_capital(list_ranks(dead))} {_verb(dead, 'is', 'are')} dead{after}."
    raised = [s for s in by_rank.values() if s.state == "raised"]
    if raised:
        rest = [s.rank for s in waiting]
        after = f", and {list_ranks(rest)} waited for it" if rest else ""
        return "raised", f"Rank {raised[0].rank} raised {raised[0].detail}{after}."
    polling = [s for s in by_rank.values() if s.state == "running" and s.kind]
    if polling and all(s.state in ("waiting", "returned") or s in polling for s in by_rank.values()):
        ranks = [s.rank for s in polling]
        return (
            "endless_poll",
            f"{_capital(list_ranks(ranks))} {_verb(ranks, 'polls', 'poll')}, and nobody else is doing anything.",
        )
    if not waiting:
        running = [r for r, s in by_rank.items() if s.state == "running"]
        if not running:
            raise ValueError("no rank waits: there is nothing to explain")
        return (
            "busy",
            f"{_capital(list_ranks(running))} {_verb(running, 'is', 'are')} still running outside communication.",
        )
    collective = [s for s in waiting if not direction(s.kind)]
    if collective:
        return _collective_verdict(by_rank, collective)
    return _message_verdict(by_rank, waiting)


def _collective_verdict(by_rank: dict[int, RankState], collective: list[RankState]) -> tuple[str, str]:
    first = collective[0]
    members = first.group if first.group is not None else tuple(by_rank)
    here = [s for s in collective if s.group == first.group]
    kinds = {s.kind for s in here}
    if len(kinds) > 1:
        calls = "; ".join(f"{list_ranks([s.rank for s in here if s.kind == k])} called {k}" for k in sorted(kinds))
        return "mismatched_collective", f"The ranks are in different collectives: {calls}."
    disagreement = _disagreement(first.kind, here)
    if disagreement and first.kind.lower().replace("_", "") in EQUAL_SIZES:  # wrong already, whoever is still to come
        return disagreement
    missing = [r for r in members if r not in {s.rank for s in here}]
    running = [r for r in missing if by_rank[r].state == "running"]
    if missing and running == missing:
        runs = _verb(missing, "is still running and has", "are still running and have")
        return "busy", (
            f"{_capital(list_ranks([s.rank for s in here]))} {_verb(here, 'waits', 'wait')} in {first.kind}; "
            f"{list_ranks(missing)} {runs} not called it yet."
        )
    if missing:
        done = [r for r in missing if by_rank[r].state == "returned"]
        if done == missing:
            how = f"{_verb(missing, 'has', 'have')} returned without calling it"
        else:
            how = f"{_verb(missing, 'is', 'are')} somewhere else"
        ranks = [s.rank for s in here]
        return "missing_rank", (
            f"{_capital(list_ranks(ranks))} {_verb(ranks, 'waits', 'wait')} in {first.kind} for {list_ranks(missing)}: "
            f"{_verb(missing, 'it', 'they')} {how}."
        )
    if disagreement:
        return disagreement
    return "busy", f"All ranks are in {first.kind}: it is not complete yet."


def _disagreement(kind: str, here: list[RankState]) -> tuple[str, str] | None:
    """The disagreement of the members that are in a collective, or None."""
    if len({s.dtype for s in here}) > 1:
        return (
            "mismatched_dtype",
            f"The ranks called {kind} with different data types: {', '.join(sorted({s.dtype for s in here}))}.",
        )
    sizes = [s.nbytes for s in here] if any(s.shape is None for s in here) else [s.shape for s in here]
    if len(set(sizes)) > 1:
        shapes = "; ".join(f"rank {s.rank}: {list(s.shape) if s.shape is not None else f'{s.nbytes} B'}" for s in here)
        return "mismatched_shape", f"The ranks called {kind} with different sizes ({shapes})."
    if len({s.peer for s in here}) > 1:
        roots = "; ".join(f"rank {s.rank}: root {s.peer}" for s in here)
        return "mismatched_collective", f"The ranks called {kind} with different roots ({roots})."
    return None


def _message_verdict(by_rank: dict[int, RankState], waiting: list[RankState]) -> tuple[str, str]:
    """Ranks that wait in messages: the first of `RULES` that has something to say."""
    return next(said for rule in RULES if (said := rule(by_rank, waiting)) is not None)


def _partner(by_rank: dict[int, RankState], state: RankState) -> RankState | None:
    """The rank that this one names as the other end of its message."""
    return by_rank.get(state.peer) if state.peer is not None and state.peer >= 0 else None


def mismatched_tag(by_rank: dict[int, RankState], waiting: list[RankState]) -> tuple[str, str] | None:
    """Two ranks wait for each other, one to send and one to receive: only their tags differ."""
    for s in waiting:
        partner = _partner(by_rank, s)
        if partner is None or partner.state != "waiting" or partner.peer != s.rank or partner.rank == s.rank:
            continue
        if direction(s.kind) != direction(partner.kind) and s.tag != partner.tag and s.tag >= 0 and partner.tag >= 0:
            side = "sends to" if direction(s.kind) == "send" else "receives from"
            tags = f"with tag {s.tag}, but rank {partner.rank} uses tag {partner.tag}"
            return "mismatched_tag", f"Rank {s.rank} {side} rank {partner.rank} {tags}."
    return None


def returned_early(by_rank: dict[int, RankState], waiting: list[RankState]) -> tuple[str, str] | None:
    """The other end of a message has returned."""
    for s in waiting:
        partner = _partner(by_rank, s)
        if partner is not None and partner.state == "returned":
            side = "to send to it" if direction(s.kind) == "send" else "for a message from it"
            return "returned_early", f"Rank {partner.rank} has returned, and rank {s.rank} waits {side}."
    return None


def nobody_left_to_send(by_rank: dict[int, RankState], waiting: list[RankState]) -> tuple[str, str] | None:
    """All that have not returned wait for a message from any rank, and some have returned."""
    anyone = [s for s in waiting if direction(s.kind) == "recv" and (s.peer is None or s.peer < 0)]
    others = [s for s in by_rank.values() if s not in anyone]
    if not anyone or not others or any(s.state != "returned" for s in others):
        return None
    ranks = [s.rank for s in anyone]
    return "returned_early", (
        f"{_capital(list_ranks(ranks))} still {_verb(ranks, 'waits', 'wait')} for a message from any rank, "
        "but nobody is left to send one."
    )


def still_running(by_rank: dict[int, RankState], waiting: list[RankState]) -> tuple[str, str] | None:
    """Some rank is running, and none waits in a circle: nothing is wrong yet."""
    running = [r for r, s in by_rank.items() if s.state == "running"]
    if not running or _cycle(by_rank, waiting):
        return None
    ranks = [s.rank for s in waiting]
    return "busy", (
        f"{_capital(list_ranks(ranks))} {_verb(ranks, 'waits', 'wait')}; "
        f"{list_ranks(running)} {_verb(running, 'is', 'are')} still running."
    )


def unsafe_send(by_rank: dict[int, RankState], waiting: list[RankState]) -> tuple[str, str] | None:
    """All in the circle wait in a send, or a rank in one to itself."""
    blocked, ring = _blocked(by_rank, waiting)
    if any(direction(s.kind) != "send" for s in blocked):
        return None
    if len(blocked) == 1 and blocked[0].peer == blocked[0].rank:
        return "unsafe_send", f"Rank {blocked[0].rank} sends to itself and waits for itself to receive."
    return "unsafe_send", f"All of them wait in a send ({ring})."


def deadlock(by_rank: dict[int, RankState], waiting: list[RankState]) -> tuple[str, str]:
    """Whatever else it is that they wait in."""
    blocked, ring = _blocked(by_rank, waiting)
    if all(direction(s.kind) == "recv" for s in blocked):
        return "deadlock", f"Every one of them waits to receive before anybody has sent ({ring})."
    return "deadlock", f"They wait for each other ({ring})."


# Of ranks that wait in messages: what is said is said by the first rule that applies. The order is the logic: a rank
# whose partner has returned may also stand in a circle, and a circle is one even while another rank is running.
RULES = (mismatched_tag, returned_early, nobody_left_to_send, still_running, unsafe_send, deadlock)


def _blocked(by_rank: dict[int, RankState], waiting: list[RankState]) -> tuple[list[RankState], str]:
    """(the ranks of a circle of waiting, or else all that wait; their numbers in words)."""
    cycle = _cycle(by_rank, waiting)
    blocked = [by_rank[r] for r in cycle] if cycle else waiting
    return blocked, " -> ".join(str(s.rank) for s in blocked) + (f" -> {blocked[0].rank}" if cycle else "")


def _cycle(by_rank: dict[int, RankState], waiting: list[RankState]) -> list[int]:
    """The ranks of a circle of waiting, in order, or []."""
    waits_for = {s.rank: s.peer for s in waiting if s.peer is not None and s.peer >= 0}
    for start in waits_for:
        path: list[int] = []
        r = start
        while r in waits_for and r not in path:
            path.append(r)
            r = waits_for[r]
        if r in path:
            return path[path.index(r) :]
    return []
