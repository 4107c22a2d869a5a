"""The flight recorder: what each rank did last and what it waits for, readable from outside even after the rank was
killed.

Every rank writes one small memory-mapped file (`rank3.flight`): a header, a table of texts and a ring of fixed records,
one per communication call. Nothing is locked and nothing is flushed: the pages belong to the kernel, so they outlive
the process. Times are `time.monotonic()`, one clock for all ranks of a machine; ranks on other machines send copies
with times of the reader's.

The side that communicates calls `begin` and `end` around every operation:

    token = recorder.begin("recv", peer=1, tag=7)
    try:
        comm.Recv(...)
    finally:
        recorder.end(token)

A non-blocking operation is begun with `blocking=False`. It does not make its rank "waiting" until `waiting(token)` says
that the program now stands in the call that waits for it; `end(token)` closes both. Both are called in the thread of
the program, so that the line is the student's; `end` may come from any thread. `polled(...)` notes a call such as Test
that returned "not yet".

The side that looks calls `states` (where does everybody stand) and `events` (what happened since the last
`mark("running")`).
"""

from __future__ import annotations

import builtins
import itertools
import mmap
import os
import re
import stat
import struct
import sys
import sysconfig
import time
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from labkit.watch.events import Event, RankState
from labkit.watch.hang import EQUAL_SIZES, direction
from labkit.watch.matching import matched

CAPACITY = 4096  # records in the ring; older ones are overwritten
_TEXT_BYTES = 128 * 1024
_MAGIC = b"labkit-flight-01"
_POLLING = 0.5  # s: a rank whose last unsuccessful Test or Iprobe is younger than this is polling

# magic, rank, world size, pid, first token of the cell, start of the cell, completed operations, bytes of text
_HEADER = struct.Struct("<16siiqQdQQ")
_FIRST_TOKEN = 32  # offsets of the fields that change
_STARTED = 40
_COMPLETED = 48
_TEXT_USED = 56
# token of the operation being waited for, and the line of that wait: text, number
_WAIT = struct.Struct("<QII")
_WAIT_AT = 64
# unsuccessful polls: how many since the last completed operation, when, kind, peer, tag, line: text, number
_POLL = struct.Struct("<QdIiiII")
_POLL_AT = 96
# state, line and detail of the last mark, as texts of fixed length
_MARK = struct.Struct("<16s128s512s")
_MARK_AT = 160
_TEXT_AT = 1024
_RING_AT = _TEXT_AT + _TEXT_BYTES
# token, posted, ended (0: not yet), bytes, peer (-1: none), tag, texts (kind, dtype, shape, group, file), line,
# blocking
_RECORD = struct.Struct("<QddqiiIIIIIII")
_RECORD_POSTED = 8
_RECORD_ENDED = 16
_RECORD_BYTES = 64 + 16
_ENDED = struct.Struct("<d")
_BYTES = struct.Struct("<q")
_SOURCE = struct.Struct("<ii")  # peer, tag: what a receive from any source learns when it completes
_COUNT = struct.Struct("<Q")
_MAX_RANKS = 1 << 20

_LIBRARIES = tuple(
    {os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {os.path.join(str(Path(__file__).parents[2]), name, "") for name in ("labkit", "probes", "autograder")}
    | {"<frozen "}
)


class _Recorder:
    """The writing side, one per process."""

    def __init__(self, path: Path, rank: int, world_size: int):
        size = _RING_AT + CAPACITY * _RECORD_BYTES
        unfinished = path.with_suffix(".new")
        with builtins.open(unfinished, "w+b") as file:
            # A full /dev/shm must fail here, not as a bus error in the middle of a lesson.
            os.posix_fallocate(file.fileno(), 0, size)
            self.map = mmap.mmap(file.fileno(), size)
        self.path = path
        self.tokens = itertools.count(1)  # next() is atomic under the GIL
        self.completed = itertools.count(1)
        self.texts: dict[Hashable, int] = {"": 0}
        self.text_used = 1  # text 0 is empty: one line end
        self.map[_TEXT_AT : _TEXT_AT + 1] = b"\n"
        self.files: dict[str, int | None] = {}
        self.polls = 0
        _HEADER.pack_into(self.map, 0, _MAGIC, rank, world_size, os.getpid(), 1, time.monotonic(), 0, self.text_used)
        unfinished.replace(path)  # whoever watches never sees a recording without its beginning

    def text(self, key: Hashable) -> int:
        """The number of a text in the file's table; 0 (empty) once the table is full."""
        number = self.texts.get(key)
        if number is None:
            written = ",".join(map(str, key)) if isinstance(key, tuple) else str(key)
            data = written.replace("\n", " ").encode() + b"\n"
            if self.text_used + len(data) > _TEXT_BYTES:
                return 0
            start = _TEXT_AT + self.text_used
            self.map[start : start + len(data)] = data
            self.text_used += len(data)
            _COUNT.pack_into(self.map, _TEXT_USED, self.text_used)
            number = self.texts[key] = len(self.texts)
        return number

    def line(self, frame: FrameType | None) -> tuple[int, int]:
        """The innermost frame that belongs to the student: number of its file's text, and the line number."""
        files = self.files
        while frame is not None:
            name = frame.f_code.co_filename
            try:
                number = files[name]
            except KeyError:
                number = files[name] = None if is_library(name) else self.text(file_label(name))
            if number is not None:
                return number, frame.f_lineno or 0
            frame = frame.f_back
        return 0, 0


_recorder: _Recorder | None = None


def is_library(filename: str) -> bool:
    """True if a source file belongs to Python, an installed package or the course's own code."""
    return filename.startswith(_LIBRARIES)


def file_label(filename: str) -> str:
    """The name of a source file in reports: cells by their name ("cell 7"), files without their folder ("pi.py")."""
    return os.path.basename(filename)


def open(path: str | Path, rank: int, world_size: int) -> None:
    """Start recording this process as `rank` in the folder `path` (created if it is not there).

    A second call closes the first recording. Raises OSError when the folder cannot hold the file (0.5 MB).
    """
    global _recorder
    close()
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    _recorder = _Recorder(folder / f"rank{rank}.flight", rank, world_size)


def close() -> None:
    """Stop recording; the file stays."""
    global _recorder
    recorder, _recorder = _recorder, None
    if recorder is not None:
        recorder.map.close()


def is_open() -> bool:
    return _recorder is not None


def begin(
    kind: str,
    *,
    peer: int | None = None,
    tag: int = 0,
    nbytes: int = 0,
    dtype: str = "",
    shape: tuple[int, ...] | None = None,
    group: tuple[int, ...] | None = None,
    blocking: bool = True,
) -> int:
    """Note that an operation was called; returns the token that `end` needs (0 when nothing is recorded).

    peer: global rank of the other side or of the root, None for any source or for everybody; group: global ranks of the
    members, None for all ranks.
    """
    recorder = _recorder
    if recorder is None:
        return 0
    text = recorder.text
    token = next(recorder.tokens)
    file, line = recorder.line(sys._getframe(1))
    _RECORD.pack_into(
        recorder.map,
        _RING_AT + token % CAPACITY * _RECORD_BYTES,
        token,
        time.monotonic(),
        0.0,
        nbytes,
        -1 if peer is None else peer,
        tag,
        text(kind),
        text(dtype),
        0 if shape is None else text(("shape", *shape)),
        0 if group is None else text(group),
        file,
        line,
        blocking,
    )
    return token


def end(token: int, *, peer: int | None = None, tag: int | None = None, nbytes: int | None = None) -> None:
    """Note that the operation completed; a receive says here whom and how much it heard."""
    recorder = _recorder
    if recorder is None or token == 0:
        return
    at = _RING_AT + token % CAPACITY * _RECORD_BYTES
    if _COUNT.unpack_from(recorder.map, at)[0] != token:  # so long ago that its record was overwritten
        return
    if nbytes is not None:
        _BYTES.pack_into(recorder.map, at + 24, nbytes)
    if peer is not None and tag is not None:
        _SOURCE.pack_into(recorder.map, at + 32, peer, tag)
    _ENDED.pack_into(recorder.map, at + _RECORD_ENDED, time.monotonic())
    recorder.polls = 0
    _COUNT.pack_into(recorder.map, _COMPLETED, next(recorder.completed))


def waiting(token: int) -> None:
    """Note that the program now stands in the call that waits for a non-blocking operation (until its `end`)."""
    recorder = _recorder
    if recorder is not None and token:
        _WAIT.pack_into(recorder.map, _WAIT_AT, token, *recorder.line(sys._getframe(1)))


def polled(kind: str, *, peer: int | None = None, tag: int = 0) -> None:
    """Note a call that asked and was told "not yet" (Test, Iprobe, is_completed)."""
    recorder = _recorder
    if recorder is None:
        return
    recorder.polls += 1
    line = recorder.line(sys._getframe(1))
    peer = -1 if peer is None else peer
    _POLL.pack_into(recorder.map, _POLL_AT, recorder.polls, time.monotonic(), recorder.text(kind), peer, tag, *line)


def mark(state: str, detail: str = "", line: str = "") -> None:
    """Note where the program of this rank stands: "running" opens a cell or case, "returned" or "raised" closes it.

    detail: the exception of a rank that raised; line: where it was raised.
    """
    recorder = _recorder
    if recorder is None:
        return
    if state == "running":
        struct.pack_into("<QdQ", recorder.map, _FIRST_TOKEN, next(recorder.tokens), time.monotonic(), 0)
        recorder.completed = itertools.count(1)
        recorder.polls = 0
        _POLL.pack_into(recorder.map, _POLL_AT, 0, 0.0, 0, 0, 0, 0, 0)
    _MARK.pack_into(recorder.map, _MARK_AT, state.encode(), _cut(line, 128), _cut(detail, 512))


def copy(later: float = 0.0, line: str = "") -> bytes:
    """This rank's recording as it is now, for a reader on another machine.

    later: seconds by which the reader's clock is ahead of ours; line: where the rank stands, should it be computing.
    """
    data = bytearray(_recorder.map[:])

    def shift(at: int) -> None:
        (when,) = _ENDED.unpack_from(data, at)
        if when:
            _ENDED.pack_into(data, at, when + later)

    for at in (_STARTED, _POLL_AT + 8):
        shift(at)
    for at in range(_RING_AT, len(data), _RECORD_BYTES):
        if _COUNT.unpack_from(data, at)[0]:
            shift(at + _RECORD_POSTED)
            shift(at + _RECORD_ENDED)
    state, known, detail = _MARK.unpack_from(data, _MARK_AT)
    if state.rstrip(b"\0") == b"running":
        _MARK.pack_into(data, _MARK_AT, state, _cut(line, 128) or known, detail)
    return bytes(data)


def _cut(text: str, size: int) -> bytes:
    """The text as at most `size` bytes, not ending inside a character."""
    return text.encode()[:size].decode(errors="ignore").encode()


# --- the side that looks


@dataclass(frozen=True)
class _Flight:
    """One rank's file, read."""

    rank: int
    world_size: int
    pid: int
    started: float  # monotonic s: the last mark("running")
    completed: int
    state: str
    line: str
    detail: str
    operations: list[_Operation]  # of this cell, oldest first
    waits_for: int  # token
    wait_line: str
    polls: int
    polled_at: float
    poll: RankState
    lost: bool  # the cell had more operations than the ring holds


@dataclass(frozen=True)
class _Operation:
    token: int
    blocking: bool
    event: Event  # times are monotonic
    dtype: str
    shape: tuple[int, ...] | None


def _read(path: Path) -> _Flight:
    """One recording. Raises ValueError for anything that is none: whoever wrote it may be a rank that nobody trusts."""
    try:
        return _parse(_bytes_of(path))
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError(f"{path} is not a flight recording: {error}") from None


def _bytes_of(path: Path) -> bytes:
    """A recording's bytes, never more than one has. A link, a pipe, a device is none."""
    with builtins.open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no plain file")
        return file.read(_RING_AT + CAPACITY * _RECORD_BYTES)


def _parse(data: bytes) -> _Flight:
    magic, rank, world_size, pid, first, started, completed, text_used = _HEADER.unpack_from(data, 0)
    if magic != _MAGIC or not 0 <= rank < world_size <= _MAX_RANKS:
        raise ValueError("not a flight recording")
    texts = _Texts(data[_TEXT_AT : _TEXT_AT + text_used].decode(errors="replace").split("\n"))
    operations = [_operation(rank, _RECORD.unpack_from(data, at), texts) for at in _places(data, first)]
    operations.sort(key=lambda operation: operation.token)
    waits_for, wait_file, wait_row = _WAIT.unpack_from(data, _WAIT_AT)
    polls, polled_at, kind, peer, tag, poll_file, poll_row = _POLL.unpack_from(data, _POLL_AT)
    state, mark_line, detail = (
        field.rstrip(b"\0").decode(errors="replace") for field in _MARK.unpack_from(data, _MARK_AT)
    )
    return _Flight(
        rank=rank,
        world_size=world_size,
        pid=pid,
        started=started,
        completed=completed,
        state=state or "running",
        line=mark_line,
        detail=detail,
        operations=operations,
        waits_for=waits_for,
        wait_line=texts.line(wait_file, wait_row),
        polls=polls,
        polled_at=polled_at,
        poll=RankState(
            rank, "running", texts[kind], None if peer < 0 else peer, tag, line=texts.line(poll_file, poll_row)
        ),
        lost=bool(operations) and operations[0].token > first + 1,
    )


class _Texts(list):
    """The texts of a recording by number; "" for a number that it does not have."""

    def __getitem__(self, number: int) -> str:
        return super().__getitem__(number) if number < len(self) else ""

    def line(self, file: int, number: int) -> str:
        return f"{self[file]}, line {number}" if self[file] else ""

    def numbers(self, number: int) -> tuple[int, ...] | None:
        return tuple(int(part) for part in self[number].split(",") if part.isdigit()) if number else None


def _operation(rank: int, record: tuple, texts: _Texts) -> _Operation:
    token, posted, ended, nbytes, peer, tag, kind, dtype, shape, group, file, row, blocking = record
    event = Event(
        rank=rank,
        kind=texts[kind],
        posted=posted,
        started=None,
        ended=ended or None,
        peer=None if peer < 0 else peer,
        tag=tag,
        nbytes=nbytes,
        group=texts.numbers(group),
        line=texts.line(file, row),
    )
    return _Operation(token, bool(blocking), event, texts[dtype], texts.numbers(shape))


def _places(data: bytes, first: int) -> list[int]:
    """The places in the file of the records from token `first` on: one behind the other, unless they went round
    the ring."""
    places, unwritten = [], 0
    for token in range(first, first + CAPACITY):
        at = _RING_AT + token % CAPACITY * _RECORD_BYTES
        (found,) = _COUNT.unpack_from(data, at)
        if found > token:
            ring = range(_RING_AT, len(data), _RECORD_BYTES)
            return [at for at in ring if _COUNT.unpack_from(data, at)[0] >= first]
        if found == token:
            places.append(at)
            unwritten = 0
        else:
            unwritten += 1
            if unwritten > 8:  # tokens that other threads have just taken
                break
    return places


_FLIGHT = re.compile(r"rank(\d{1,5})\.flight")


def _flights(path: str | Path | Mapping[int, Path], ranks: Collection[int] | None = None) -> list[_Flight]:
    """The recordings of these ranks (None: of all), by rank. In a folder a rank's file has its number and one name:
    whatever else a program may have put there is not read. Where each rank has a folder of its own, one that says that
    it is another rank is left out."""
    if isinstance(path, Mapping):
        of_each = [(rank, path[rank] / f"rank{rank}.flight") for rank in sorted(path) if ranks is None or rank in ranks]
        found = [(rank, _read(file)) for rank, file in of_each if file.exists() and file.lstat().st_nlink == 1]
        return [flight for rank, flight in found if flight.rank == rank]
    path = Path(path)
    if not path.is_dir():
        return [flight for flight in [_read(path)] if ranks is None or flight.rank in ranks]
    files = {int(match[1]): file for file in path.iterdir() if (match := _FLIGHT.fullmatch(file.name))}
    chosen = [rank for rank in sorted(files) if (ranks is None or rank in ranks) and files[rank].stat().st_nlink == 1]
    return [flight for flight in (_read(files[rank]) for rank in chosen) if flight.rank in chosen]


def began(path: str | Path) -> dict[int, float]:
    """{rank: when it last began a cell, monotonic s} of the recorded ranks in the folder `path`."""
    times = {}
    for file in Path(path).glob("rank*.flight"):
        with builtins.open(file, "rb") as opened:
            head = opened.read(_HEADER.size)
        if len(head) == _HEADER.size:
            _, rank, _, _, _, started, _, _ = _HEADER.unpack(head)
            times[rank] = started
    return times


def states(
    path: str | Path | Mapping[int, Path], dead: Mapping[int, str] | None = None, ranks: Collection[int] | None = None
) -> list[RankState]:
    """The state of every recorded rank, by rank. `path`: the folder given to `open`, one rank's file, or the folder of
    each rank.

    dead: for each rank that the caller knows to have died, how ("SIGKILL"); a recorder cannot know its own end.
    ranks: of them alone. A rank that keeps polling is "running" with the kind it polls and the number of polls in
    `detail`.
    """
    return [_state(flight, (dead or {}).get(flight.rank)) for flight in _flights(path, ranks)]


def _state(flight: _Flight, death: str | None) -> RankState:
    waiting_in = _waiting_in(flight)
    if waiting_in is not None:
        found = _as_waiting(*waiting_in)
    elif flight.polls > 1 and time.monotonic() - flight.polled_at < _POLLING:
        found = replace(flight.poll, detail=f"polled {flight.polls} times")
    else:
        found = RankState(flight.rank, flight.state, line=flight.line, detail=flight.detail)
    if flight.state in ("returned", "raised"):
        found = RankState(flight.rank, flight.state, line=flight.line, detail=flight.detail)
    if death is not None:
        found = replace(found, state="dead", detail=death)
    return replace(found, operations=flight.completed)


def _as_waiting(operation: _Operation, line: str) -> RankState:
    event = operation.event
    return RankState(
        rank=event.rank,
        state="waiting",
        kind=event.kind,
        peer=event.peer,
        tag=event.tag,
        nbytes=event.nbytes,
        dtype=operation.dtype,
        shape=operation.shape,
        group=event.group,
        line=line,
    )


def _waiting_in(flight: _Flight) -> tuple[_Operation, str] | None:
    """The operation the program stands in, with the line of the call that waits for it."""
    for operation in reversed(flight.operations):
        if operation.event.ended is None:
            if operation.token == flight.waits_for:
                return operation, flight.wait_line or operation.event.line
            if operation.blocking:
                return operation, operation.event.line
    return None


def events(path: str | Path | Mapping[int, Path], ranks: Collection[int] | None = None) -> list[Event]:
    """Every operation since the last `mark("running")`, ordered by time; times in s since the first rank began.

    The two ends of a message and the members of a collective carry the same `match`; `started` is when the last partner
    arrived.
    ranks: who ran the cell (the others still show an older one); None: all.
    """
    flights = _flights(path, ranks)
    if not flights:
        return []
    zero = min(flight.started for flight in flights)
    cut = max((flight.operations[0].event.posted for flight in flights if flight.lost), default=zero)
    recorded = [
        replace(event, posted=event.posted - zero, ended=None if event.ended is None else event.ended - zero)
        for flight in flights
        for event in (operation.event for operation in flight.operations)
        if event.posted >= cut
    ]
    everybody = tuple(range(flights[0].world_size))
    return sorted(matched(recorded, everybody, from_the_end=cut > zero), key=lambda event: (event.posted, event.rank))


def overwritten(path: str | Path | Mapping[int, Path], ranks: Collection[int] | None = None) -> list[int]:
    """Those of `ranks` (None: all) that have called more operations since the last `mark("running")` than a recording
    holds: `events` lacks the older ones."""
    return [flight.rank for flight in _flights(path, ranks) if flight.lost]


def mismatched(path: str | Path, ranks: Collection[int] | None = None) -> list[RankState]:
    """The first collective of the cell on which its members do not agree, as the states of those who called it; [] if
    none.

    They may have come through it: MPI does not notice everything, and a root that sends little does not wait.
    Collectives are compared by their number in the group; sizes and types only where all members must bring the same.
    ranks: who ran the cell.
    """
    flights = _flights(path, ranks)
    if any(flight.lost for flight in flights):
        return []
    lanes: dict[Hashable, list[list[_Operation]]] = defaultdict(list)
    for flight in flights:
        own: dict[Hashable, list[_Operation]] = defaultdict(list)
        for operation in flight.operations:
            if not direction(operation.event.kind) and operation.event.kind != "Abort":
                own[operation.event.group].append(operation)
        for group, operations in own.items():
            lanes[group].append(operations)
    found: list[list[_Operation]] = []
    for lane in lanes.values():
        for k in range(max(map(len, lane))):
            together = [operations[k] for operations in lane if k < len(operations)]
            if len({_agreed(operation) for operation in together}) > 1:
                found.append(together)
                break
    first = min(found, key=lambda together: min(operation.event.posted for operation in together), default=[])
    return [_as_waiting(operation, operation.event.line) for operation in first]


def _agreed(operation: _Operation) -> Hashable:
    """The part of an operation that all members of a collective must have in common: its kind alone where sizes may
    differ.
    """
    event, kind = operation.event, operation.event.kind.lower().replace("_", "")
    if kind not in EQUAL_SIZES or not event.nbytes:
        return kind
    return kind, event.peer, operation.dtype, event.nbytes
