"""Process set-up before user code runs: huge pages, resource limits, death with the parent."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)  # opened once, before any fork
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_MADV_COLLAPSE = 25
_HUGE_PAGE = 2 << 20  # bytes, of x86-64 and of arm64 with pages of 4 kB


def use_huge_pages() -> int:
    """Have the memory that this process has filled moved into huge pages; the number of bytes for which that worked.

    A fork copies an entry for each page, and the end of the copy clears it: with the frameworks imported that was about
    a quarter of what a short case cost. madvise(2), MADV_COLLAPSE, from Linux 6.1 on; elsewhere everything stays as it
    is.
    """
    madvise = _libc.madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    moved = 0
    try:
        maps = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return 0
    for line in maps:
        addresses, rights, _, _, _, *name = line.split(maxsplit=5)
        if rights != "rw-p" or name not in ([], ["[heap]"]):
            continue
        start, end = (int(address, 16) for address in addresses.split("-"))
        start, end = -(-start // _HUGE_PAGE) * _HUGE_PAGE, end // _HUGE_PAGE * _HUGE_PAGE
        if start < end and madvise(start, end - start, _MADV_COLLAPSE) == 0:
            moved += end - start
    return moved


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent goes (Linux; elsewhere the closed sockets do it)."""
    with contextlib.suppress(OSError, AttributeError):
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def let_look_into(allowed: bool) -> None:
    """Other processes of the same user may read and write this one's memory (/proc/PID/mem), or may not. Children begin
    as their parent is."""
    with contextlib.suppress(AttributeError):
        _libc.prctl(_PR_SET_DUMPABLE, int(allowed), 0, 0, 0)


def settle_torch_after_fork() -> None:
    """Make torch's pool of threads anew, in a process just forked from one that had torch compute in one thread.

    It must be done before there is a second thread: torch does it in the first call that sets the number of threads,
    and of two threads that come at once one finds no pool and aborts the process. Where torch is built with CUDA, a
    backward pass behind `fully_shard` or DTensor has eight threads of its own that call, even without a GPU.
    """
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


def apply_limits(limits: dict) -> None:
    """Hold this process to `limits` (the fields of `labkit.launch.launcher.Limits`): processor time, sizes, memory."""
    import resource

    def set_limit(which, value, grace=0):
        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(
            which, (value, value + grace if hard == resource.RLIM_INFINITY else min(value + grace, hard))
        )

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits["cpu_seconds"]:
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        set_limit(resource.RLIMIT_CPU, int(used + limits["cpu_seconds"]) + 1, grace=2)  # SIGXCPU first, SIGKILL later
    if limits["file_bytes"]:
        set_limit(resource.RLIMIT_FSIZE, limits["file_bytes"])
    if limits["memory_bytes"]:
        with contextlib.suppress(OSError, ValueError):
            status = Path("/proc/self/status").read_text()
            data = int(status.split("VmData:")[1].split()[0]) << 10
            set_limit(resource.RLIMIT_DATA, data + limits["memory_bytes"])
