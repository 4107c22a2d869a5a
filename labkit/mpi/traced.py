"""An mpi4py communicator that notes every call in the flight recorder: what was called, with whom, how much, at which
line.

`traced(comm)` is an `MPI.Intracomm` (or Cartcomm, Graphcomm ...) on the same handle, so it goes wherever the original
goes. Communicators made from it (Dup, Split, Create_group, Create_cart ...) are traced too, and so are the requests of
its non-blocking calls: their Wait is where a hang report finds a rank. Ranks are reported as ranks of COMM_WORLD.

`install()` puts a traced communicator in place of `MPI.COMM_WORLD`, for programs that fetch it themselves. The course's
own modules (labkit.*) may use a traced communicator without leaving a trace.

What is said where nobody listens is recorded when the way to it is opened, with no size: memory that ranks share
(Allocate_shared), communicators between groups (Create_intercomm, Spawn) and those of `mpi4py.util.pkl5`.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import sys
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from labkit.mpi.requests import TracedMessage, TracedPrequest, TracedRequest, heard
from labkit.watch import recorder

_TRACED = (__name__, TracedMessage.__module__)
_SENDS = ("Send", "Ssend", "Bsend", "Rsend", "send", "ssend", "bsend")
_ISENDS = ("Isend", "Issend", "Ibsend", "Irsend", "isend", "issend", "ibsend")
_PROBES = ("Probe", "Mprobe", "probe", "mprobe")
_IPROBES = ("Iprobe", "Improbe", "iprobe", "improbe")
# collective: position of its root among the arguments (None: no root)
_COLLECTIVES: dict[str, int | None] = {
    **dict.fromkeys(
        ("Barrier", "Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv", "Alltoallw", "Scan", "Exscan")
    ),
    **dict.fromkeys(
        ("Reduce_scatter", "Reduce_scatter_block", "barrier", "allgather", "allreduce", "alltoall", "scan", "exscan")
    ),
    **dict.fromkeys(("Bcast", "bcast", "gather", "scatter"), 1),
    **dict.fromkeys(("Gather", "Gatherv", "Scatter", "Scatterv", "reduce"), 2),
    "Reduce": 3,
}
_ICOLLECTIVES = tuple("I" + name.lower() for name in _COLLECTIVES if name[0].isupper())
_CREATORS = ("Dup", "Clone", "Dup_with_info", "Split", "Split_type", "Create", "Create_cart", "Create_graph")
_CREATORS += ("Create_dist_graph", "Create_dist_graph_adjacent", "Create_group", "Sub")
_OUT_OF_SIGHT = ("Create_intercomm", "Spawn", "Spawn_multiple", "Accept", "Connect", "Join", "Idup", "Idup_with_info")
_NEIGHBOURS = tuple("eighbor_" + name for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"))
_PERSISTENT = {
    **dict.fromkeys(("Send_init", "Bsend_init", "Ssend_init", "Rsend_init"), "Isend"),
    "Recv_init": "Irecv",
}
_UNEQUAL = (
    "Gatherv",
    "Scatterv",
    "Allgatherv",
    "Alltoallv",
    "Alltoallw",
    "Igatherv",
    "Iscatterv",
    "Iallgatherv",
    "Ialltoallv",
)


def traced(comm: MPI.Intracomm) -> MPI.Intracomm:
    """A communicator on the same handle whose calls are recorded; COMM_NULL and traced communicators are returned as
    they are."""
    if comm == MPI.COMM_NULL or isinstance(comm, _Traced) or not isinstance(comm, MPI.Intracomm):
        return comm
    return _traced_class(type(comm))(comm)


def install() -> MPI.Intracomm:
    """Put a traced communicator in place of MPI.COMM_WORLD, traced requests in place of MPI.Request; return the
    communicator."""
    # The classes, too: Request.Waitall and its like are called on them, and windows are made by theirs.
    MPI.Request, MPI.Prequest, MPI.Message, MPI.Win = TracedRequest, TracedPrequest, TracedMessage, TracedWin
    with contextlib.suppress(ImportError):
        from mpi4py.util import pkl5

        pkl5.Intracomm = functools.wraps(pkl5.Intracomm, updated=())(_untold("pkl5.Intracomm", pkl5.Intracomm))
    MPI.COMM_WORLD = traced(MPI.COMM_WORLD)
    return MPI.COMM_WORLD


@functools.cache
def _traced_class(base: type) -> type:
    """Intracomm -> TracedIntracomm, Cartcomm -> TracedCartcomm ..."""
    bases = (_TracedNeighbours, _Traced, base) if issubclass(base, MPI.Topocomm) else (_Traced, base)
    return type(f"Traced{base.__name__}", bases, {})


class _Traced:
    """Base class of the traced communicators; its recorded methods are filled in below."""

    @functools.cached_property
    def members(self) -> tuple[int, ...]:
        """The ranks of COMM_WORLD that belong to this communicator, in its own order."""
        world = MPI.COMM_WORLD.Get_group()
        group = self.Get_group()
        return tuple(group.Translate_ranks(list(range(group.Get_size())), world))

    @functools.cached_property
    def recorded_group(self) -> tuple[int, ...] | None:
        """`members`, or None when that is everybody."""
        return None if self.members == tuple(range(MPI.COMM_WORLD.Get_size())) else self.members

    def world_rank(self, peer: int | None) -> int | None:
        """A rank of this communicator as a rank of COMM_WORLD; None for any source and for nobody (PROC_NULL)."""
        return self.members[peer] if peer is not None and 0 <= peer < len(self.members) else None

    def Abort(self, errorcode: int = 0) -> None:
        if _recording():
            recorder.begin("Abort")  # a last word: mpiexec does not always pass on who called it
        MPI.Intracomm.Abort(self, errorcode)


class _TracedNeighbours:
    """The collectives among neighbours of a communicator with a topology; filled in below."""


def _recording() -> bool:
    """True if the traced call that asks was made by a program, perhaps through another traced one, with the recorder
    open."""
    caller = sys._getframe(2).f_globals.get("__name__", "")
    return recorder.is_open() and (caller in _TRACED or not caller.startswith(("labkit.", "probes.")))


def _argument(args: tuple, keywords: dict, position: int, name: str, default: Any = None) -> Any:
    return args[position] if len(args) > position else keywords.get(name, default)


def _size(buffer: Any) -> dict[str, Any]:
    """nbytes, dtype and shape of a message buffer (array, tensor, or mpi4py's [array, ...]), as far as it tells
    them."""
    if isinstance(buffer, (list, tuple)) and buffer:
        buffer = buffer[0]
    if buffer is None or buffer is MPI.IN_PLACE or buffer is MPI.BOTTOM:
        return {}
    if hasattr(buffer, "nbytes") and hasattr(buffer, "dtype"):
        return {"nbytes": buffer.nbytes, "dtype": _dtype_name(buffer.dtype), "shape": buffer.shape}
    try:
        return {"nbytes": memoryview(buffer).nbytes}
    except TypeError:
        return {}


@functools.cache
def _dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _object_bytes(value: Any) -> int:
    """The bytes of a pickled object where they are cheap to find out, else 0."""
    if hasattr(value, "nbytes"):
        return value.nbytes
    if isinstance(value, (int, float, str, bytes, type(None))) or (
        isinstance(value, (list, tuple, dict)) and len(value) <= 100
    ):
        try:
            return len(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        except Exception:
            return 0  # the call itself will say that it cannot be pickled
    return 0


# --- the recorded methods: one maker per family


def _traced_send(name: str) -> Callable:
    plain = getattr(MPI.Intracomm, name)
    pickles, blocking = name.islower(), not name.lower().startswith("i")

    def call(self, *args, **keywords):
        peer = self.world_rank(_argument(args, keywords, 1, "dest"))
        if peer is None or not _recording():
            return plain(self, *args, **keywords)
        message = _argument(args, keywords, 0, "obj" if pickles else "buf")
        size = {"nbytes": _object_bytes(message)} if pickles else _size(message)
        tag = _argument(args, keywords, 2, "tag", 0)
        token = recorder.begin(name, peer=peer, tag=tag, group=self.recorded_group, blocking=blocking, **size)
        if not blocking:
            return TracedRequest.of(plain(self, *args, **keywords), token)
        try:
            return plain(self, *args, **keywords)
        finally:
            recorder.end(token)

    return call


def _traced_recv(name: str) -> Callable:
    plain = getattr(MPI.Intracomm, name)
    pickles = name.islower()

    def call(self, buf=None, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=None):
        if source == MPI.PROC_NULL or not _recording():
            return plain(self, buf, source, tag, status)
        size = {} if pickles else _size(buf)
        token = recorder.begin(name, peer=self.world_rank(source), tag=tag, group=self.recorded_group, **size)
        status = status or MPI.Status()
        told = {}
        try:
            result = plain(self, buf, source, tag, status)
            told = heard(self, status)
            return result
        finally:
            recorder.end(token, **told)

    return call


def _traced_irecv(name: str) -> Callable:
    plain = getattr(MPI.Intracomm, name)
    pickles = name.islower()

    def call(self, buf=None, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG):
        if source == MPI.PROC_NULL or not _recording():
            return plain(self, buf, source, tag)
        size = {} if pickles else _size(buf)
        peer = self.world_rank(source)
        token = recorder.begin(name, peer=peer, tag=tag, group=self.recorded_group, blocking=False, **size)
        return TracedRequest.of(plain(self, buf, source, tag), token, self)

    return call


def _traced_persistent(name: str) -> Callable:
    plain = getattr(MPI.Intracomm, name)
    kind = _PERSISTENT[name]
    peer_name, anything = ("dest", 0) if kind == "Isend" else ("source", MPI.ANY_TAG)

    def call(self, *args, **keywords):
        request = plain(self, *args, **keywords)
        other = _argument(args, keywords, 1, peer_name, MPI.ANY_SOURCE)
        if other == MPI.PROC_NULL or not _recording():
            return request
        begun = {"kind": kind, "peer": self.world_rank(other), "tag": _argument(args, keywords, 2, "tag", anything)}
        begun |= {"group": self.recorded_group, **_size(_argument(args, keywords, 0, "buf"))}
        return TracedPrequest.of(request, begun, self if kind == "Irecv" else None)

    return call


def _traced_probe(name: str) -> Callable:
    plain = getattr(MPI.Intracomm, name)
    blocking = not name.lower().startswith("i")
    takes = "mprobe" in name.lower()  # the message leaves the queue at once, whenever its recv is called
    taken = "mrecv" if name.islower() else "Mrecv"

    def call(self, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=None):
        if not _recording():
            return plain(self, source, tag, status)
        status = status or MPI.Status()
        peer = self.world_rank(source)
        if blocking:
            token = recorder.begin(name, peer=peer, tag=tag, group=self.recorded_group)
            try:
                found = plain(self, source, tag, status)
            finally:
                recorder.end(token)
        else:
            found = plain(self, source, tag, status)
            if not found:
                recorder.polled(name, peer=peer, tag=tag)
        if takes and found:
            recorder.end(recorder.begin(taken, group=self.recorded_group), **heard(self, status))
        return found

    return call


def _traced_sendrecv(name: str) -> Callable:
    """Sendrecv is a send and a receive at the same time, and is recorded as both; it waits where its receive waits."""
    plain = getattr(MPI.Intracomm, name)
    pickles, replaces = name.islower(), name.endswith("replace")
    source_at = 3 if replaces else 4

    def call(self, *args, **keywords):
        if not _recording():
            return plain(self, *args, **keywords)
        dest = self.world_rank(_argument(args, keywords, 1, "dest"))
        source = _argument(args, keywords, source_at, "source", MPI.ANY_SOURCE)
        message = _argument(args, keywords, 0, "sendobj" if pickles else "buf" if replaces else "sendbuf")
        size = {"nbytes": _object_bytes(message)} if pickles else _size(message)
        status = _argument(args, keywords, source_at + 2, "status") or MPI.Status()
        if len(args) > source_at + 2:
            args = (*args[: source_at + 2], status)
        else:
            keywords["status"] = status
        sent = received = 0
        if dest is not None:
            tag = _argument(args, keywords, 2, "sendtag", 0)
            sent = recorder.begin(
                "isend" if pickles else "Isend", peer=dest, tag=tag, group=self.recorded_group, blocking=False, **size
            )
        if source != MPI.PROC_NULL:
            tag = _argument(args, keywords, source_at + 1, "recvtag", MPI.ANY_TAG)
            received = recorder.begin(
                "recv" if pickles else "Recv", peer=self.world_rank(source), tag=tag, group=self.recorded_group
            )
        recorder.waiting(received or sent)
        told = {}
        try:
            result = plain(self, *args, **keywords)
            told = heard(self, status) if received else {}
            return result
        finally:
            recorder.end(received, **told)
            recorder.end(sent)

    return call


def _traced_collective(name: str, root_at: int | None, blocking: bool = True, of: type = MPI.Intracomm) -> Callable:
    plain = getattr(of, name)
    # Pickled objects, and blocks that may differ by rank, say their size only when it can no longer be taken for a
    # mismatch.
    equal = not name.islower() and name not in _UNEQUAL

    def call(self, *args, **keywords):
        if not _recording():
            return plain(self, *args, **keywords)
        root = None if root_at is None else self.world_rank(_argument(args, keywords, root_at, "root", 0))
        size = _collective_size(name, args, keywords)
        early = size if equal else {}
        token = recorder.begin(name, peer=root, group=self.recorded_group, blocking=blocking, **early)
        if not blocking:
            return TracedRequest.of(plain(self, *args, **keywords), token)
        try:
            return plain(self, *args, **keywords)
        finally:
            recorder.end(token, nbytes=size.get("nbytes", 0))

    return call


def _collective_size(name: str, args: tuple, keywords: dict) -> dict[str, Any]:
    """The bytes that this rank sends; for Scatter and in-place calls, those that it receives."""
    if name.islower():
        return (
            {"nbytes": _object_bytes(_argument(args, keywords, 0, "sendobj", keywords.get("obj")))}
            if args or keywords
            else {}
        )
    if name.endswith(("Bcast", "bcast")):
        return _size(_argument(args, keywords, 0, "buf"))
    sent, received = _argument(args, keywords, 0, "sendbuf"), _argument(args, keywords, 1, "recvbuf")
    if "scatter" in name.lower() and "reduce" not in name.lower():
        sent, received = received, sent
    return _size(sent) or _size(received)


def _traced_creator(name: str) -> Callable:
    """Making a communicator is a collective call too, and a rank that does not join it leaves the others waiting."""
    plain = getattr(MPI.Cartcomm if name == "Sub" else MPI.Intracomm, name)

    def call(self, *args, **keywords):
        if not _recording():
            return traced(plain(self, *args, **keywords))
        members = self.recorded_group
        if name == "Create_group":
            group = _argument(args, keywords, 0, "group")
            members = tuple(group.Translate_ranks(list(range(group.Get_size())), MPI.COMM_WORLD.Get_group()))
        token = recorder.begin(name, group=members)
        try:
            return traced(plain(self, *args, **keywords))
        finally:
            recorder.end(token)

    return call


def _untold(name: str, plain: Callable) -> Callable:
    """A call after which ranks may talk unheard: a collective of unknown size stands for all of it."""

    def call(*args, **keywords):
        if not _recording():
            return plain(*args, **keywords)
        group = args[0].recorded_group if args and isinstance(args[0], _Traced) else None
        token = recorder.begin(name, group=group)
        try:
            return plain(*args, **keywords)
        finally:
            recorder.end(token)

    return call


# --- windows: memory of a rank that others write to and read from


class TracedWin(MPI.Win):
    """A window whose puts and gets are recorded, at the rank that calls them; its other methods are filled in below."""

    @functools.cached_property
    def members(self) -> tuple[int, ...]:
        """The ranks of COMM_WORLD that belong to this window, in its own order."""
        group = self.Get_group()
        return tuple(group.Translate_ranks(list(range(group.Get_size())), MPI.COMM_WORLD.Get_group()))

    def note(self, kind: str, buffer: Any, target: int) -> None:
        """Record a Put, Get or Accumulate, which moves as many bytes as the memory has that the caller gives."""
        if 0 <= target < len(self.members):
            recorder.end(recorder.begin(kind, peer=self.members[target], blocking=False, **_size(buffer)))


# method: what it is recorded as, with the position and name of the memory that it takes and of the rank whose window it
# is
_ONE_SIDED: dict[str, tuple[tuple[str, int, str], ...]] = {
    **dict.fromkeys(("Put", "Rput"), (("Put", 0, "origin"),)),
    **dict.fromkeys(("Get", "Rget"), (("Get", 0, "origin"),)),
    **dict.fromkeys(("Accumulate", "Raccumulate"), (("Accumulate", 0, "origin"),)),
    **dict.fromkeys(
        ("Get_accumulate", "Rget_accumulate", "Fetch_and_op"), (("Accumulate", 0, "origin"), ("Get", 1, "result"))
    ),
    "Compare_and_swap": (("Accumulate", 0, "origin"), ("Get", 2, "result")),
}


def _traced_one_sided(name: str) -> Callable:
    plain, notes = getattr(MPI.Win, name), _ONE_SIDED[name]
    target_at = notes[-1][1] + 1

    def call(self, *args, **keywords):
        if _recording():
            for kind, at, called in notes:
                self.note(
                    kind, _argument(args, keywords, at, called), _argument(args, keywords, target_at, "target_rank")
                )
        return plain(self, *args, **keywords)

    return call


def _traced_meeting(name: str) -> Callable:
    """A call that a window's ranks all make."""
    plain = getattr(MPI.Win, name)

    def call(self, *args, **keywords):
        if not _recording():
            return plain(self, *args, **keywords)
        everybody = tuple(range(MPI.COMM_WORLD.Get_size()))
        token = recorder.begin(f"Win.{name}", group=None if self.members == everybody else self.members)
        try:
            return plain(self, *args, **keywords)
        finally:
            recorder.end(token)

    return call


def _traced_window(name: str, comm_at: int) -> classmethod:
    """Making a window is a collective call. What ranks then tell each other in memory that they share, nobody
    counts."""

    def call(cls, *args, **keywords):
        plain = getattr(super(TracedWin, cls), name)
        comm = _argument(args, keywords, comm_at, "comm")
        if not isinstance(comm, _Traced) or not _recording():  # by default a window is COMM_SELF's
            return plain(*args, **keywords)
        token = recorder.begin(f"Win.{name}", group=comm.recorded_group)
        try:
            return plain(*args, **keywords)
        finally:
            recorder.end(token)

    return classmethod(functools.wraps(getattr(MPI.Win, name))(call))


def _fill_in() -> None:
    makers = {
        **dict.fromkeys(_SENDS + _ISENDS, _traced_send),
        **dict.fromkeys(("Recv", "recv"), _traced_recv),
        **dict.fromkeys(("Irecv", "irecv"), _traced_irecv),
        **dict.fromkeys(_PROBES + _IPROBES, _traced_probe),
        **dict.fromkeys(("Sendrecv", "Sendrecv_replace", "sendrecv"), _traced_sendrecv),
        **dict.fromkeys(_CREATORS, _traced_creator),
        **dict.fromkeys(_PERSISTENT, _traced_persistent),
        **{name: functools.partial(_untold, plain=getattr(MPI.Intracomm, name)) for name in _OUT_OF_SIGHT},
    }
    for name, root_at in _COLLECTIVES.items():
        makers[name] = functools.partial(_traced_collective, root_at=root_at)
    for name in _ICOLLECTIVES:
        makers[name] = functools.partial(
            _traced_collective, root_at=_COLLECTIVES[name[1:].capitalize()], blocking=False
        )
    for name, make in makers.items():
        plain = getattr(MPI.Cartcomm if name == "Sub" else MPI.Intracomm, name)
        setattr(_Traced, name, functools.wraps(plain)(make(name)))
    for name in (start + rest for start in ("N", "In", "n") for rest in _NEIGHBOURS):
        if hasattr(MPI.Topocomm, name):
            made = _traced_collective(name, None, blocking=not name.startswith("I"), of=MPI.Topocomm)
            setattr(_TracedNeighbours, name, functools.wraps(getattr(MPI.Topocomm, name))(made))
    for name in _ONE_SIDED:
        setattr(TracedWin, name, functools.wraps(getattr(MPI.Win, name))(_traced_one_sided(name)))
    for name in ("Fence", "Free"):
        setattr(TracedWin, name, functools.wraps(getattr(MPI.Win, name))(_traced_meeting(name)))
    for name, comm_at in {"Create": 3, "Create_dynamic": 1, "Allocate": 3, "Allocate_shared": 3}.items():
        setattr(TracedWin, name, _traced_window(name, comm_at))


_fill_in()
