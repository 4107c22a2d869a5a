"""The program of the warm process: it imports what ranks need once, and forks the ranks of each request from itself.

The client's side, which starts this program and talks to it, is `labkit.launch.launcher`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence

from labkit.launch import framed, jail
from labkit.launch.process import apply_limits, die_with_parent, use_huge_pages
from labkit.relay import wire
from labkit.watch import standstill

VERSION = 1
MAX_RANKS = 128
PROCESSES = 96  # that a rank in a jail may have, threads included: TensorFlow alone starts two dozen
_PROGRAMS = ("labkit.ranks.forker",)  # what else can be forked from here: its `serve` gets the sockets
_WATCH = 0.2  # seconds between two looks at what a cell uses
SCRATCH = "LABKIT_LAUNCHER_SCRATCH"  # the launcher's temporary folder: each case gets one in it, gone with the case


def _import_frameworks(names: Sequence[str]) -> None:
    import numpy  # noqa: F401

    if "torch" in names:
        import torch
        import torch._dynamo  # DistributedDataParallel's constructor would import it: 2 s
        import torch.distributed
        import torch.nn.parallel
        import torch.optim

        torch.set_num_threads(1)
        from labkit.relay import backend as relay_backend

        relay_backend.rehearse()
    if "tensorflow" in names:
        import tensorflow  # noqa: F401
    if "horovod" in names:
        from labkit.launch import horovod_rendezvous

        horovod_rendezvous.import_horovod()
    from labkit.launch import rank_program  # noqa: F401


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
    signal.signal(signal.SIGCHLD, _reap)  # waited for, so that their processor time counts as that of this process' children
    _import_frameworks(sys.argv[2].split(","))
    sys.argv = [""]
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
    """Fork the ranks, wait for them or for the end of the lifeline; how each ended. Raises JailError."""
    apart = request["apart"]
    if spec is not None and apart:
        jail.watch_cells(spec)
    elif spec is not None:
        jail.enter_cell(spec, network=bool(request["horovod"]))
    wake_read, wake_write = os.pipe()
    trouble_read, trouble_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    folder = None
    if not apart:
        folder = tempfile.mkdtemp(prefix="case-", dir=os.environ.get(SCRATCH))
        if spec is not None:
            jail.give(spec, folder)
    rendezvous = watch = silence = None
    if request.get("horovod"):
        from labkit.launch import horovod_rendezvous

        rendezvous = horovod_rendezvous.Rendezvous(len(ranks), request["horovod"]["ranks_per_node"])
        watch = horovod_rendezvous.StandstillWatch(rendezvous, request["horovod"]["windows"])
    elif request["limits"]["patience"]:
        silence = standstill.Watch()
    if spec is not None:
        jail.hide()
    cells = [jail.start_cell(spec) if apart else 0 for _ in ranks]
    pids: dict[int, int] = {}
    for r, sock in enumerate(ranks):
        pid = jail.fork_into(cells[r])
        if pid == 0:
            others = [lifeline, *(s for s in ranks if s is not sock)]
            _rank(r, sock, others, request, (wake_read, wake_write, trouble_read), folder, rendezvous, spec, trouble_write)
        pids[pid] = r
    os.close(trouble_write)
    if spec is not None:
        jail.shield_leader(spec)
    if rendezvous is not None:
        rendezvous.serve()
    for sock in ranks:
        sock.close()
    ends: list[dict] = [{} for _ in ranks]
    over = ""  # which of the cell's limits was passed

    def reap(flags: int) -> None:
        while pids:
            pid, status, usage = os.wait4(-1, flags)
            if pid == 0:
                return
            if pid in pids:
                code = os.waitstatus_to_exitcode(status)
                ends[pids.pop(pid)] = {
                    "exit": code if code >= 0 else None,
                    "signal": -code if code < 0 else None,
                    "cpu": usage.ru_utime + usage.ru_stime,
                    "rss": usage.ru_maxrss << 10,
                    "over": over,
                }

    reap(os.WNOHANG)
    while pids:
        pause = 0.1 if watch is not None else _WATCH if spec is not None or silence is not None else None
        readable, _, _ = select.select([lifeline, wake_read], [], [], pause)
        stacks = watch.report(pids) if watch is not None else {}
        if stacks:
            watch = None
            with contextlib.suppress(OSError):
                wire.send(lifeline, wire.STALL, {"stacks": stacks})
        window = silence.look(pids) if silence is not None else None
        if window is not None and lifeline not in readable:
            with contextlib.suppress(OSError):
                wire.send(lifeline, wire.STALL, window)
        if wake_read in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_read, 4096)
            reap(os.WNOHANG)
        over = over or _over(request["limits"], len(ranks), spec)
        if pids and (over or lifeline in readable):
            _kill(pids)
            reap(0)
    trouble = os.read(trouble_read, 4096).decode(errors="replace")  # every rank has closed its end before it took its job
    if trouble:
        raise jail.JailError(trouble)
    if folder is not None and os.getpid() != 1:  # the files of a cell go with it
        # And what the ranks of a case wrote for each other, whether they came to their end or not (tempfile's folder, their parent's pid).
        for path in (folder, os.path.join(tempfile.gettempdir(), f"labkit-case-{os.getpid()}")):
            with contextlib.suppress(RecursionError):  # folders too deep to walk
                shutil.rmtree(path, ignore_errors=True)
    return ends


def _over(limits: dict, ranks: int, spec: dict | None) -> str:
    """Which limit all processes of a cell together have passed: "memory", "cpu" or none. Limits count for each process by itself, and a
    rank may start others."""
    if spec is None or os.getpid() != 1:
        return ""
    used_bytes, used_seconds = jail.usage()
    if limits["memory_bytes"] and used_bytes > limits["memory_bytes"] * ranks:
        return "memory"
    if limits["cpu_seconds"] and used_seconds > (limits["cpu_seconds"] + 4) * ranks:
        return "cpu"
    return ""


def _kill(pids) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _rank(
    rank: int,
    sock: socket.socket,
    others: list[socket.socket],
    request: dict,
    pipes: tuple[int, ...],
    folder: str | None,
    rendezvous,
    spec: dict | None,
    trouble: int,
) -> None:
    """What a freshly forked rank does first; never returns. trouble: where it says that its jail could not be built."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        os.setpgid(0, 0)
        die_with_parent()
        for other in others:
            other.close()
        for fd in pipes:
            os.close(fd)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.close(null)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        apply_limits(request["limits"])
        if spec is not None:
            folder = _shut_in(rank, request, folder, spec, trouble)
        os.close(trouble)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        os.chdir(folder)
        if rendezvous is not None:
            rendezvous.enter_rank(rank)
        from labkit.launch import rank_program

        rank_program.run_rank(sock)
        status = 0
    except (wire.Closed, BrokenPipeError, ConnectionResetError):
        status = 0
    finally:
        os._exit(status)


def _shut_in(rank: int, request: dict, folder: str | None, spec: dict, trouble: int) -> str:
    """A rank enters its cell, if it has one of its own, and gives up all rights; returns its folder. Where that fails nothing runs."""
    try:
        jail.share_no_memory()
        if folder is None:
            spec = jail.as_a_rank(spec, rank)
            jail.enter_cell(spec, network=False, alone=True)
            folder = tempfile.mkdtemp(prefix="case-", dir="/tmp")
            jail.give(spec, folder)
        jail.drop_rights(spec, PROCESSES * request["ranks"], request["apart"])
    except OSError as error:
        os.write(trouble, f"{error}\n".encode()[:500])
        os._exit(1)
    return folder
