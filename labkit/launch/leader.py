"""The program of the warm process: it imports what ranks need once, and forks the ranks of each request from itself.

The client's side, which starts this program and talks to it, is `labkit.launch.launcher`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence

from labkit.launch import framed, jail
from labkit.launch.children import Birth, Children
from labkit.launch.process import die_with_parent, use_huge_pages
from labkit.relay import wire
from labkit.watch import standstill

VERSION = 1
MAX_RANKS = 128
_PROGRAMS = ("labkit.ranks.forker",)  # what else can be forked from here: its `serve` gets the sockets
_WATCH = 0.2  # seconds between two looks at what a compartment uses
SCRATCH = "LABKIT_LAUNCHER_SCRATCH"  # the launcher's temporary folder: each case gets one in it, gone with the case


def _import_frameworks(names: Sequence[str]) -> None:
    import numpy  # noqa: F401

    if "torch" in names:
        import torch
        import torch._dynamo  # DistributedDataParallel's constructor would import it: 2 s
        import torch.distributed
        import torch.distributed.fsdp
        import torch.distributed.pipelining
        import torch.distributed.tensor.parallel
        import torch.nn.parallel
        import torch.optim

        torch.set_num_threads(1)
        torch.zeros(1).half()  # looks at the processor, once: a rank's compartment has neither /proc/cpuinfo nor /sys
        from labkit.relay import backend as relay_backend

        relay_backend.rehearse()
    if "tensorflow" in names:
        import tensorflow  # noqa: F401
    if "horovod" in names:
        from labkit.launch import horovod_rendezvous

        horovod_rendezvous.import_horovod()
    from labkit.launch import rank_program

    rank_program.know_the_library()


def serve() -> None:
    """The launcher's life: import, then fork the leaders of every request; its temporary folder goes with it."""
    try:
        _serve()
    finally:
        shutil.rmtree(os.environ.get(SCRATCH, ""), ignore_errors=True)


def _serve() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    spec = json.loads(sys.argv[3]) if len(sys.argv) > 3 else None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(
        signal.SIGCHLD, _reap
    )  # waited for, so that their processor time counts as that of this process' children
    gc.disable()  # imports leave next to no garbage, and looking for it takes a sixth of their time
    _import_frameworks(sys.argv[2].split(","))
    sys.argv = [""]
    gc.enable()
    gc.collect()
    use_huge_pages()
    gc.freeze()  # a forked rank does not copy pages just because the collector touched them
    try:
        wire.send(control, wire.READY, {"version": VERSION})
    except OSError:  # the client has left before the imports were done
        return
    while True:
        request, fds = framed.receive(control, MAX_RANKS + 1)
        if request is None:
            return
        pid = os.fork() if spec is None else jail.fork_leader(spec)
        if pid == 0:
            control.close()
            status = 1
            try:
                if request.get("program") in _PROGRAMS:
                    importlib.import_module(request["program"]).serve(*[socket.socket(fileno=fd) for fd in fds])
                    status = 0
                else:
                    status = _lead(request, [socket.socket(fileno=fd) for fd in fds], spec)
            finally:
                os._exit(status)
        for fd in fds:
            os.close(fd)


def _reap(*_) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _lead(request: dict, sockets: list[socket.socket], spec: dict | None) -> int:
    """The life of a leader: run the ranks of a case, say how they ended."""
    lifeline = sockets[0]
    die_with_parent()
    report: dict = {}
    try:
        report["ends"] = _lead_ranks(request, lifeline, sockets[1:], spec)
    except jail.JailError as error:
        report["failed"] = f"the jail of a case could not be built: {error}"
    if spec is not None:
        jail.end_everybody(spec)
    with contextlib.suppress(OSError):
        wire.send(lifeline, wire.RESULT, report)
    return 0


def _lead_ranks(request: dict, lifeline: socket.socket, ranks: list[socket.socket], spec: dict | None) -> list[dict]:
    """Fork one process per socket in `ranks`, wait until all have ended or `lifeline` closes; how each ended, by rank.

    Each entry: {"exit": status or None, "signal": number or None, "cpu": seconds, "rss": bytes, "over": limit passed or
    "", "said": last words}. Raises JailError where a rank's jail could not be built.
    """
    apart, request["covered"] = request["apart"], _to_cover(request, spec)
    if spec is not None and apart:
        jail.watch_cells(spec)
    elif spec is not None:
        jail.enter_compartment(spec, network=bool(request["horovod"]))
        jail.cover(spec, request["covered"])
    folder = None if apart else _folder(spec)
    rendezvous, watch = _watch_of(request, len(ranks))
    if spec is not None:
        jail.hide()
    children = Children(len(ranks), listens=spec is None)
    compartments = [jail.start_compartment(spec) if apart else 0 for _ in ranks]
    for r, sock in enumerate(ranks):
        others = [lifeline, *(s for s in ranks if s is not sock)]
        children.fork(Birth(r, sock, others, request, folder, rendezvous, spec), compartments[r])
    children.complete()
    if spec is not None:
        jail.shield_leader(spec)
    if rendezvous is not None:
        rendezvous.serve()
    for sock in ranks:
        sock.close()
    _wait(children, lifeline, request, spec, watch)
    if trouble := children.trouble():
        raise jail.JailError(trouble)
    if folder is not None and os.getpid() != 1:  # the files of a compartment go with it
        _remove_files(folder)
    return children.ends


def _to_cover(request: dict, spec: dict | None) -> list[str]:
    """The files that ranks in a jail may not read."""
    if spec is None or not request["withheld"]:
        return []
    from labkit.launch import rank_program

    return rank_program.files_of(request["withheld"])


def _folder(spec: dict | None) -> str:
    """The temporary folder that the ranks of a case share."""
    folder = tempfile.mkdtemp(prefix="case-", dir=os.environ.get(SCRATCH))
    if spec is not None:
        jail.give(spec, folder)
    return folder


def _remove_files(folder: str) -> None:
    """A case's folder, and what its ranks wrote for each other, whether they came to their end or not (tempfile's
    folder, their parent's pid)."""
    for path in (folder, os.path.join(tempfile.gettempdir(), f"labkit-case-{os.getpid()}")):
        with contextlib.suppress(RecursionError):  # folders too deep to walk
            shutil.rmtree(path, ignore_errors=True)


def _watch_of(request: dict, ranks: int):
    """(Horovod's rendezvous or None, who looks at the ranks' processes or None). `look(pids)` of the latter: what to
    tell the client."""
    if request.get("horovod"):
        from labkit.launch import horovod_rendezvous

        rendezvous = horovod_rendezvous.Rendezvous(ranks, request["horovod"]["ranks_per_node"])
        return rendezvous, horovod_rendezvous.StandstillWatch(rendezvous, request["horovod"]["windows"])
    return None, standstill.Watch() if request["limits"]["patience"] else None


def _wait(children: Children, lifeline: socket.socket, request: dict, spec: dict | None, watch) -> None:
    """Until all ranks have ended, tell the client what `watch` sees of them; end them when it goes, or when a limit is
    passed."""
    pause = watch.PAUSE if watch is not None else _WATCH if spec is not None else None
    over = ""  # which limit all processes of a compartment have passed
    while children.alive:
        gone = children.wait(lifeline, pause, over)
        seen = watch.look(children.alive) if watch is not None and children.alive else None
        if seen and not gone:
            with contextlib.suppress(OSError):
                wire.send(lifeline, wire.STALL, seen)
        over = over or _over(request["limits"], len(children.ends), spec)
        if children.alive and (over or gone):
            children.kill(over)


def _over(limits: dict, ranks: int, spec: dict | None) -> str:
    """The limit that all processes of a compartment together have passed: "memory", "cpu" or none. Limits count for
    each process by itself, and a rank may start others."""
    if spec is None or os.getpid() != 1:
        return ""
    used_bytes, used_seconds = jail.usage()
    if limits["memory_bytes"] and used_bytes > limits["memory_bytes"] * ranks:
        return "memory"
    if limits["cpu_seconds"] and used_seconds > (limits["cpu_seconds"] + 4) * ranks:
        return "cpu"
    return ""
