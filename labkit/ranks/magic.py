"""Real MPI ranks in a notebook: `ranks.start(4)`, then `%%ranks` at the top of a cell runs it on all of them.

    %%ranks [WHICH] [--deadline SECONDS] [--timeline]

WHICH names the ranks: `0`, `0,2`, `1:` (all from 1 on); without it all run the cell. Every rank has `rank`,
`world_size`, `comm` (MPI.COMM_WORLD), `np`, `torch` and `dist` (torch.distributed); names that the notebook defines
travel to the ranks when a cell reads them. What the ranks print is shown by rank, what several ranks print alike is
shown once.

Ranks that do not come to an end before the deadline are looked at, explained and replaced by fresh ones. So are ranks
of which one died, and ranks that wait for one that raised an exception.
"""

from __future__ import annotations

import ast
import atexit
import os
import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import labkit.ranks.engine as engine
import labkit.ranks.unwritten as unwritten
from labkit import environment
from labkit.cells.notebook import executed_cells
from labkit.palette import BLUE
from labkit.ranks.carry import CannotSend, Notebook, SentNames
from labkit.ranks.order import CannotRun, Order, understood
from labkit.ranks.output import Code, RankOutput, Remark, label
from labkit.ranks.screen import Screen, say
from labkit.watch import recorder
from labkit.watch.events import Event, RankState
from labkit.watch.hang import HangReport, describe, direction, explain, list_ranks

if TYPE_CHECKING:
    from labkit.ranks.cluster import Cluster, RankRequest
_IMPORT_LIMIT = 60.0  # s for what a rank does before its cell begins: importing torch, taking in names
_REPLY_LIMIT = 10.0  # s for the reply of a rank whose cell has ended
_GRACE = 1.0  # s for which nothing may move after one rank raised, until the others are ended
_FRESH = "Fresh ranks are starting. Variables on the ranks are gone: run the cells again that define them."


@dataclass
class _Session:
    """The state of this kernel's ranks."""

    cluster: Cluster
    sent_names: SentNames
    last_flight: Path | None = None  # the recordings of the last cell
    last_ranks: tuple[int, ...] = ()  # who ran it


@dataclass(frozen=True)
class CellOutcome:
    """The end of the last `%%ranks` cell. kind: "returned", "raised", "interrupted", or a kind of hang
    (labkit.watch.hang.KINDS, "busy")."""

    kind: str
    message: Remark | None = None
    outputs: tuple[RankOutput, ...] = ()


class Interrupted(Exception):
    """Ends a cell that the student interrupted: the cells behind it do not run, and there is no traceback to read."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


_session: _Session | None = None
_asked: tuple[int, bool] | None = None  # the number of ranks and `torch` of the last start in this kernel
last: CellOutcome | None = None  # of the last %%ranks cell


# --- starting and stopping


def start(n: int | None = None, *, torch: bool = False) -> None:
    """Start `n` MPI ranks, or say that they are there already; in a Slurm or PBS allocation they run on its nodes.

    n: how many; by default 4, in an allocation as many as it has slots. torch: also run `init_process_group("mpi")` on
    each.
    """
    global _session, _asked
    _register_magic()
    try:
        n = _checked_number(n)
    except CannotRun as reason:
        say(Remark("The ranks were not started.", reason.args))
        return
    _asked = n, torch or (_asked is not None and _asked[1])
    if _session is None or not _is_whole(_session.cluster, n):
        stop()
        _session = _new_session(n, torch)
    if _session is not None and _wait_until_ready(torch):
        print(_ready_line(n))


def _start_call(cell: str = "") -> str:
    """The call that starts the ranks as they were, or as this cell and notebook want them: with `torch=True` where they
    use `dist`."""
    if _asked is not None:
        n, torch = _asked
    else:
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        named = (
            {node.id for node in ast.walk(ast.parse(shell.transform_cell(cell))) if isinstance(node, ast.Name)}
            if shell
            else set()
        )
        n, torch = slots() or 4, "dist" in named or "dist" in getattr(shell, "user_ns", ())
    return f"ranks.start({n}{', torch=True' if torch else ''})"


def _is_whole(cluster: Cluster, n: int) -> bool:
    return cluster.world_size == n and cluster.is_usable() and not cluster.dead()


def _new_session(n: int, torch: bool) -> _Session | None:
    from labkit.ranks.cluster import Cluster, StartFailed

    try:
        return _Session(Cluster(n, torch), SentNames())
    except StartFailed as reason:
        say(Remark("The ranks did not start.", reason.args))
        return None


def _wait_until_ready(torch: bool = False) -> bool:
    """True if all ranks answer (torch: and have their process group); says why if they do not."""
    from labkit.ranks.cluster import StartFailed

    try:
        _session.cluster.wait_until_ready()
        if torch and not _session.cluster.torch:
            _session.cluster.start_process_group()
        return True
    except StartFailed as reason:
        stop()
        hint = f"Try {_start_call()} again; `labkit doctor` checks the installation."
        say(Remark("The ranks did not start.", (Code(reason), hint)))
    except KeyboardInterrupt:
        stop()
        raise Interrupted(f"Interrupted: no ranks are running. {_start_call()} starts them.") from None
    return False


def stop() -> None:
    """End all ranks and remove everything they left; starting again takes a few seconds."""
    global _session
    session, _session = _session, None
    if session is not None:
        session.cluster.close()


atexit.register(stop)


def slots() -> int | None:
    """The number of ranks for which the surrounding Slurm or PBS allocation has room; None outside of any."""
    if "SLURM_JOB_ID" in os.environ:
        tasks = os.environ.get("SLURM_NTASKS") or os.environ.get("SLURM_NPROCS")
        if tasks:
            return int(tasks)
        cores = os.environ.get("SLURM_CPUS_ON_NODE")
        return (int(cores) if cores else environment.cores()) * environment.hosts()
    if "PBS_NODEFILE" in os.environ:
        try:
            return len(Path(os.environ["PBS_NODEFILE"]).read_text().split())
        except OSError:
            return None
    return None


def _checked_number(n: int | None) -> int:
    room = slots()
    if n is None:
        return room or 4
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise CannotRun(f"The number of ranks is a whole number from 1 on, not {n!r}.")
    if room is not None and n > room:
        raise CannotRun(
            f"This allocation has {room} slots, too few for {n} ranks. Use ranks.start({room}), or ask for more tasks."
        )
    cores = environment.cores()
    most = max(16, 4 * cores)
    if room is None and n > most:
        raise CannotRun(
            f"{n} ranks are too many for the {cores} {'core' if cores == 1 else 'cores'} of this machine; "
            f"they would mostly wait for each other. At most {most} start here: ranks.start({most})."
        )
    return n


def _ready_line(n: int) -> str:
    """ "4 ranks ready (MPI, this machine, 2 cores: they take turns)"."""
    nodes, cores = environment.hosts(), environment.cores()
    if nodes > 1:
        where = f"{nodes} nodes"
    else:
        where = f"this machine, {cores} {'core' if cores == 1 else 'cores'}"
        if n > cores:
            where += ": they take turns"
    return f"{n} {'rank' if n == 1 else 'ranks'} ready (MPI, {where})"


# --- what the notebook may ask


def pull(name: str) -> list[Any]:
    """The value of a name on every rank, in rank order. Raises NameError where a rank does not have it, RuntimeError
    without ranks."""
    if _session is None:
        raise RuntimeError(f"no ranks are running: start them with {_start_call()}")
    _session.cluster.wait_until_ready()
    answers = _session.cluster.call(engine.pull, name)
    for found, answer in answers.values():
        if not found:
            raise NameError(answer)
    return [answers[rank][1] for rank in sorted(answers)]


def events() -> list[Event]:
    """The ranks' communication in the last %%ranks cell; times in s since it began."""
    if _session is None or _session.last_flight is None:
        return []
    return recorder.events(_session.last_flight, _session.last_ranks)


def timeline():
    """Draw the communication of the last %%ranks cell; returns a Matplotlib figure."""
    from labkit import timeline as drawing

    found = [replace(event, kind=direction(event.kind) or event.kind) for event in events()]
    if not found:
        hint = "Run a %%ranks cell in which the ranks communicate."
        say(Remark("There is no communication to draw yet.", (hint,), BLUE))
        return None
    return drawing.draw(found, _session.cluster.world_size)


# --- the cell magic


def _register_magic() -> None:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        shell.register_magic_function(_magic, magic_kind="cell", magic_name="ranks")


def _magic(line: str, cell: str) -> None:
    """Run this cell on the ranks."""
    global last
    shell = sys.modules["IPython"].get_ipython()
    try:
        order = understood(line, _session.cluster.world_size if _session is not None else 1 << 16)
        name = f"cell {_number(shell, cell)}"
        _check_syntax(shell, cell, name)
        if _session is None:
            raise CannotRun(f"No ranks are running yet. Start them in a cell of their own: {_start_call(cell)}")
        _session_is_whole()
        sent = _packed(shell, cell, _chosen(order))
        if not _wait_until_ready():
            return
    except (CannotRun, CannotSend) as reason:
        last = CellOutcome("refused", Remark("The cell did not run.", reason.args))
        say(last.message)
        return
    last = _run(cell, name, order, sent)
    if order.timeline:
        _show_timeline()


def _number(shell, cell: str) -> int:
    """The number that stands in the brackets beside this cell."""
    history = shell.history_manager.input_hist_raw if shell.history_manager is not None else [""]
    return len(history) - 1 if cell.strip() in history[-1] else shell.execution_count


def _chosen(order: Order) -> list[int]:
    return list(order.which) if order.which is not None else list(range(_session.cluster.world_size))


def _check_syntax(shell, cell: str, name: str) -> None:
    """A cell that is no Python goes nowhere. Raises CannotRun with the line as the student counts it."""
    try:
        ast.parse(shell.transform_cell(cell))
    except SyntaxError as error:
        line = (error.lineno or 1) + 1 + engine.blank_lines(cell)
        text = (error.text or "").rstrip("\n")
        pointer = " " * max(0, (error.offset or 1) - 1) + "^"
        shown = (Code(f"{text}\n{pointer}"),) if text.strip() else ()
        raise CannotRun(f"{name}, line {line}: {error.msg}", *shown) from None


def _session_is_whole() -> None:
    """Raises CannotRun if ranks died since the last cell; fresh ones are on their way then."""
    global last
    cluster = _session.cluster
    if not cluster.is_usable():
        stop()
        raise CannotRun(f"The ranks are gone. Start them again: {_start_call()}")
    if dead := cluster.dead():
        causes = cluster.cause_of_death(dead)
        _renew()
        gone = ", ".join(f"rank {rank} ({how})" if how else f"rank {rank}" for rank, how in sorted(causes.items()))
        raise CannotRun(f"Dead since the last cell: {gone}. {_FRESH}")


def _packed(shell, cell: str, ranks: list[int]) -> dict[int, bytes]:
    """The values and sources that each rank gets with the cell. Raises CannotSend."""
    hidden = frozenset(getattr(shell, "user_ns_hidden", ()))
    notebook = Notebook(executed_cells(), shell.user_ns, hidden)
    return _session.sent_names.packed(notebook, cell, ranks)


def _renew() -> None:
    _session.sent_names.forget()
    _session.cluster.renew()


# --- running a cell


def _run(cell: str, name: str, order: Order, sent: dict[int, bytes]) -> CellOutcome:
    cluster = _session.cluster
    _session.last_flight, _session.last_ranks = cluster.flight, tuple(sent)
    outputs = {rank: RankOutput(rank) for rank in sent}
    screen = Screen(outputs)
    sent_at = time.monotonic()  # before: a rank may begin while the others are still being told
    runs = cluster.run(cell, name, 2, sent, order.deadline, lambda rank, message: outputs[rank].receive(message))
    try:
        message, kind = _watch(runs, sent_at, order, screen)
    except KeyboardInterrupt:
        where = _report(_states(runs), sent)
        screen.close()
        _renew()
        raise Interrupted(repr(Remark("Interrupted. The ranks stood here:", (_code(where.rows), _FRESH)))) from None
    screen.close()
    if message is not None:
        say(message)
    return CellOutcome(kind, message, tuple(outputs.values()))


def _watch(runs: list[RankRequest], sent_at: float, order: Order, screen: Screen) -> tuple[Remark | None, str]:
    """Wait for the end of the cell, whichever it is: what to say about it, and its kind."""
    cluster = _session.cluster
    sent = [run.rank for run in runs]
    still = _Stillness(cluster)
    looked = 0.0
    pause = 0.001
    while not all(run.is_done() for run in runs):
        time.sleep(pause)
        pause = min(0.02, pause * 1.3)  # a short cell is not kept waiting, a long one does not cost a core
        now = time.monotonic()
        screen.refresh()
        if now - looked > 0.1:
            looked = now
            if dead := cluster.dead():
                return _died(runs, dead), "rank_died"
            raised = _raised(runs)
            if raised and still.since(runs) > _GRACE:
                return _ended_after(raised, runs), "raised"
        if now - sent_at > order.deadline and (late := now - _began(runs, sent_at) - order.deadline) > 0:
            cluster.wait_for_reports([run.rank for run in runs if not run.is_done()])
            states = _states(runs)
            if late > _REPLY_LIMIT or any(
                state.rank in sent and state.state in ("waiting", "running") for state in states
            ):
                return _hung(states, sent, order)
    return _ended(_raised(runs))


def _ended(raised: dict[int, dict[str, str]]) -> tuple[Remark | None, str]:
    """All ranks are done. What to say about exceptions, and about collectives that came through although they did not
    fit."""
    disagreement = _disagreement()
    found = () if disagreement is None else (_code(disagreement.rows), disagreement.sentence)
    if raised:
        message = _exception(raised)
        return replace(message, parts=message.parts + found), "raised"
    if disagreement is not None:
        return Remark("The cell came to an end, but its ranks did not do the same.", found), disagreement.kind
    return None, "returned"


def _began(runs: list[RankRequest], sent_at: float) -> float:
    """The time at which the last unfinished rank began to run the cell: it is not the cell's fault that torch is
    imported first."""
    found = recorder.began(_session.cluster.flight)
    times = [found.get(run.rank, 0.0) for run in runs if not run.is_done()]
    return max([when if when >= sent_at else sent_at + _IMPORT_LIMIT for when in times], default=sent_at)


class _Stillness:
    """Measures for how long every unfinished rank has waited in one and the same operation."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self.seen: list[tuple] | None = None
        self.when = 0.0

    def since(self, runs: list[RankRequest]) -> float:
        """The seconds of waiting; 0 while one of them computes, runs where it cannot be seen, or has come to its end
        and only its reply is still on the way."""
        unfinished = {run.rank for run in runs if not run.is_done()}
        states = [state for state in recorder.states(self.cluster.flight) if state.rank in unfinished]
        seen = [(state.rank, state.state, state.operations) for state in states]
        if seen != self.seen or len(seen) < len(unfinished) or any(state.state != "waiting" for state in states):
            self.seen, self.when = seen, time.monotonic()
        return time.monotonic() - self.when


def _states(runs: list[RankRequest], dead: list[int] = ()) -> list[RankState]:
    """The states of the ranks; for those that are done (perhaps on another node, where nothing else is seen) their
    end."""
    done = {run.rank: run.result() for run in runs if run.is_done()}
    states = []
    for state in _session.cluster.states(list(dead)):
        result = done.get(state.rank)
        if result is not None and state.state in ("waiting", "running"):
            told = f"{result['error']}: {result['message']}" if result["state"] == "raised" else ""
            state = RankState(state.rank, result["state"], line=result.get("line", ""), detail=told)
        states.append(state)
    return states


def _raised(runs: list[RankRequest]) -> dict[int, dict[str, str]]:
    """{rank: what it raised} of the ranks that are done."""
    results = {run.rank: run.result() for run in runs if run.is_done()}
    return {rank: result for rank, result in results.items() if result["state"] == "raised"}


def _disagreement() -> HangReport | None:
    """The first collective of the cell that ranks called differently, whether or not MPI minded."""
    calls = recorder.mismatched(_session.last_flight, _session.last_ranks)
    report = explain(calls) if calls else None
    return report if report is not None and report.kind.startswith("mismatched") else None


def _report(states: list[RankState], ran: list[int] | dict) -> HangReport:
    """A report of the ranks' states; without a verdict if there is nothing to explain."""
    try:
        report = explain(states)
        waiting = any(state.state == "waiting" for state in states)
        if (
            waiting
            and not any(state.state == "dead" for state in states)
            and (disagreement := _disagreement()) is not None
        ):
            report = replace(report, kind=disagreement.kind, sentence=disagreement.sentence)
    except ValueError:
        return HangReport("returned", "", tuple(f"rank {state.rank}  has returned" for state in states))
    idle = [state.rank for state in states if state.rank not in ran]
    if idle:
        report = replace(report, sentence=f"{report.sentence} {list_ranks(idle).capitalize()} did not run this cell.")
    return report


def _died(runs: list[RankRequest], dead: list[int]) -> Remark:
    _session.cluster.wait_for_reports([run.rank for run in runs if not run.is_done() and run.rank not in dead])
    states = _states(runs, dead)
    causes = _session.cluster.cause_of_death(dead)
    causes = {state.rank: "called MPI_Abort" for state in states if state.kind == "Abort"} or causes
    if set(causes) != set(dead):  # it was another one, and mpiexec ended the rest
        states = _states(runs, list(causes))
    states = [
        replace(state, state="dead", detail=f"({causes[state.rank]})" if causes[state.rank] else "")
        if state.rank in causes
        else state
        for state in states
    ]
    report = _report(states, [run.rank for run in runs])
    _renew()
    return Remark(f"{label(list(causes)).capitalize()} died.", (_code(report.rows), report.sentence, _FRESH))


def _hung(states: list[RankState], sent: list[int], order: Order) -> tuple[Remark, str]:
    unfinished = [
        state.rank for state in states if state.state in ("waiting", "running") and state.rank in sent
    ] or sent
    report = _report(states, sent)
    _renew()
    if report.kind == "busy" and not any(state.state == "waiting" for state in states):
        hint = (f"Does it only need more time? Then give it more: %%ranks --deadline {10 * order.deadline:g}",)
    else:
        hint = ()
    title = f"{label(unfinished).capitalize()} did not come to an end within {order.deadline:g} s."
    return Remark(title, (_code(report.rows), report.sentence, *hint, _FRESH)), report.kind


def _exception(raised: dict[int, dict[str, str]]) -> Remark:
    """Every different exception once, with the ranks that raised it."""
    told = [_unwritten(result) for result in raised.values()]
    if told and None not in told:
        return told[0]
    groups: dict[tuple, list[int]] = {}
    for rank, result in raised.items():
        groups.setdefault((result["error"], result["message"], result["traceback"]), []).append(rank)
    raised_by = [
        (
            f"{label(ranks).capitalize()} raised {f'{error}: {message}' if message else error}",
            *([Code(trace)] if trace else []),
        )
        for (error, message, trace), ranks in groups.items()
    ]
    if len(raised_by) == 1:
        return Remark(raised_by[0][0], raised_by[0][1:])
    title = f"{label(list(raised)).capitalize()} raised exceptions."
    return Remark(title, tuple(part for exception in raised_by for part in exception))


def _unwritten(result: dict[str, str]) -> Remark | None:
    """The remark for a rank that raised because a function is not written yet."""
    function = re.findall(r", in (\w+)$", result["traceback"], re.MULTILINE)[-1:]
    return unwritten.explained(result["error"], result["message"], "".join(function), _running_cell())


def _running_cell() -> str:
    """The body of the cell that runs now."""
    cells = executed_cells()
    return cells[-1].source.partition("\n")[2] if cells else ""


def _ended_after(raised: dict[int, dict[str, str]], runs: list[RankRequest]) -> Remark:
    """One rank raised, others wait in MPI, from where only their end brings them back."""
    message = _exception(raised)
    waiting = [run.rank for run in runs if not run.is_done()]
    rows = [describe(state) for state in _states(runs) if state.rank in waiting]
    who, were = label(waiting).capitalize(), "was" if len(waiting) == 1 else "were"
    ended = f"{who} waited in a communication that could not complete any more, and {were} ended:"
    why = (disagreement.sentence,) if (disagreement := _disagreement()) is not None else ()
    _renew()
    return replace(message, parts=(*message.parts, ended, _code(rows), *why, _FRESH))


def _code(lines) -> Code:
    return Code("\n".join(lines))


def _show_timeline() -> None:
    from IPython.display import display

    figure = timeline()
    if figure is not None:
        display(figure)


_register_magic()
