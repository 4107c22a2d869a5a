"""Tries what two ranks of a job could tell each other beside their messages.

`python -m probes.between_ranks give` leaves signs and prints the number of its process and a time; `... look` reads
both and prints, as JSON, which of the signs it sees: names of `WAYS`. `... cell NUMBER` is a rank of
`labkit.launch.mpi_cells` and does the one or the other once its cell is closed. `... two COMMAND COMMAND` starts both
and prints what was seen, in place of mpiexec. `autograder.grading.isolation.probe` runs it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys

from labkit.launch.mpi_cells import Seal

WAYS = ("files", "locks", "times", "sockets", "System V", "message queues", "processes")
_FOLDERS = (".", "/tmp", "/tmp/job", "/dev/shm")
_FILE = os.__file__  # that everybody can read
_NAME = "between-ranks"
_KEY = 0x5EED4711
_MQ_OPEN = {"x86_64": 240, "aarch64": 180}
_libc = ctypes.CDLL(None, use_errno=True)
_held: list = []  # open for as long as this process lives


def give(moment: int) -> None:
    """Leave every sign that can be left. moment: what a file's time is set to."""
    for folder in _FOLDERS:
        with contextlib.suppress(OSError), open(f"{folder}/{_NAME}", "w") as file:
            file.write("sign")
    with contextlib.suppress(OSError):
        _held.append(open(_FILE, "rb"))
        fcntl.flock(_held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    with contextlib.suppress(OSError):
        _held.append(open(struct.__file__, "rb"))
        fcntl.lockf(_held[-1], fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 4711)
    with contextlib.suppress(OSError):
        os.utime(os.devnull, (moment, moment))
    for family, address in _addresses():
        with contextlib.suppress(OSError):
            _held.append(socket.socket(family))
            _held[-1].bind(address)
            _held[-1].listen()
    for name in ("semget", "msgget"):
        _held.append(getattr(_libc, name)(_KEY, *_more(name), 0o1600))
    _libc.syscall(_mq_open(), f"{_NAME}".encode(), os.O_CREAT | os.O_RDWR, 0o600, None)


def look(giver: int, moment: int) -> list[str]:
    """The names of the signs that this process sees. giver: the number of the process that has left them."""
    seen = {
        "files": any(os.path.exists(f"{folder}/{_NAME}") for folder in _FOLDERS),
        "locks": _locked(),
        "times": os.stat(os.devnull).st_mtime == moment,
        "sockets": any(_answers(family, address) for family, address in _addresses()),
        "System V": any(getattr(_libc, name)(_KEY, *_more(name), 0) >= 0 for name in ("semget", "msgget")),
        "message queues": _libc.syscall(_mq_open(), f"{_NAME}".encode(), os.O_RDWR, 0o600, None) >= 0,
        "processes": _reaches(giver),
    }
    return [way for way in WAYS if seen[way]]


def clear() -> None:
    """Take back what stays when this process ends."""
    with contextlib.suppress(OSError):
        os.utime(os.devnull)
    for folder in _FOLDERS:
        with contextlib.suppress(OSError):
            os.remove(f"{folder}/{_NAME}")
    for number, remove in zip(_held[-2:], ((_libc.semctl, 0, 0), (_libc.msgctl, 0)), strict=True):
        if number >= 0:
            remove[0](number, *remove[1:], None)
    _libc.syscall(_mq_open() + 1, _NAME.encode())  # mq_unlink


def _addresses() -> tuple:
    return (socket.AF_UNIX, f"\0{_NAME}"), (socket.AF_INET, ("127.0.0.1", 24711))


def _more(name: str) -> tuple[int, ...]:
    return (1,) if name == "semget" else ()


def _mq_open() -> int:
    return _MQ_OPEN[os.uname().machine]


def _locked() -> bool:
    with contextlib.suppress(OSError), open(_FILE, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    with contextlib.suppress(OSError), open(struct.__file__, "rb") as file:
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 4711, 1, 0)
        return struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, asked))[0] == fcntl.F_RDLCK
    return False


def _answers(family: int, address) -> bool:
    with contextlib.suppress(OSError), socket.socket(family) as sock:
        sock.settimeout(2)
        sock.connect(address)
        return True
    return False


def _reaches(giver: int) -> bool:
    """True if the process can be signalled, or looked into, under the number that others know it by."""
    others = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {1, os.getpid()}
    for pid in others & {giver}:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)
            return True
    return False


def two(giver: list[str], looker: list[str]) -> str:
    """The line that the second command prints of what the first has left, as two ranks that mpiexec has started."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen(giver, **pipes, env={**os.environ, "OMPI_COMM_WORLD_RANK": "0"}) as first,
        subprocess.Popen(looker, **pipes, env={**os.environ, "OMPI_COMM_WORLD_RANK": "1"}) as second,
    ):
        second.stdin.write(first.stdout.readline())
        second.stdin.close()
        said = second.stdout.readline()
        first.stdin.close()
    return said.strip()


def main() -> None:
    what, *words = sys.argv[1:]
    if what == "two":
        print(two(*map(json.loads, words)), flush=True)
        return
    if what == "cell":
        seal = Seal(int(words[0]))
        seal.wait_for_call()
        seal.close()
        what = ("give", "look")[int(os.environ["OMPI_COMM_WORLD_RANK"])]
    if what == "give":
        moment = 1 + int.from_bytes(os.urandom(3), "little")
        give(moment)
        os.write(1, f"{os.getpid()} {moment}\n".encode())
        os.read(0, 1)
        clear()
    else:
        os.write(1, json.dumps(look(*map(int, os.read(0, 100).split()))).encode() + b"\n")


if __name__ == "__main__":
    main()
