# exercise: sum_counts
# must not: have the numbers of other ranks over sockets of its own while it notes a collective that was never called
# verdict: wrong
# without a jail: reaches
# deadline: 30
import contextlib
import os
import socket
import time

import numpy as np

from labkit.watch import recorder

FAMILIES = {
    "abstract": (socket.AF_UNIX, socket.SOCK_STREAM),
    "tcp": (socket.AF_INET, socket.SOCK_STREAM),
    "udp": (socket.AF_INET, socket.SOCK_DGRAM),
}


def address(family, name, rank):
    key = sum(map(ord, name)) % 500
    return f"\0{name}-{rank}" if family == socket.AF_UNIX else ("127.0.0.1", 20000 + 8 * key + rank)


def say(family, kind, name, rank, n, data):
    """Hand `data` to every other rank over sockets of this kind; those of the others, by rank, as far as they came."""
    end, heard = time.monotonic() + 1, {}
    with socket.socket(family, kind) as mine:
        mine.bind(address(family, name, rank))
        if kind == socket.SOCK_STREAM:
            mine.listen()
        mine.setblocking(False)
        left = set(range(n)) - {rank}
        while time.monotonic() < end and (left or len(heard) < n - 1):
            for other in list(left):
                with contextlib.suppress(OSError), socket.socket(family, kind) as sock:
                    sock.connect(address(family, name, other))
                    sock.sendall(bytes([rank]) + data)
                    if kind == socket.SOCK_STREAM:
                        left.discard(other)
            with contextlib.suppress(OSError):
                source = mine.accept()[0] if kind == socket.SOCK_STREAM else mine
                got = source.recv(1 + len(data), socket.MSG_WAITALL if kind == socket.SOCK_STREAM else 0)
                heard[got[0]] = got[1:]
    return heard


def taken_over():
    """Make a listener of the connection to mpiexec that Open MPI has: no socket is opened for it."""
    libc, number = __import__("ctypes").CDLL(None, use_errno=True), None
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                sock = socket.socket(fileno=os.dup(int(name)))
                number = int(name) if sock.family == socket.AF_INET else number
    if number is None:
        return False
    nowhere = (b"\0" * 16, 16)
    return libc.connect(number, *nowhere) == 0 and libc.listen(number, 4) == 0


def sum_counts(comm, counts):
    rank, n = comm.Get_rank(), comm.Get_size()
    name = f"mine-{'-'.join(map(str, comm.members))}-{len(counts.shape)}-{counts.size}"
    token = recorder.begin(
        "Allreduce", nbytes=counts.nbytes, dtype=str(counts.dtype), shape=counts.shape, group=comm.recorded_group
    )
    total = counts
    for way, (family, kind) in FAMILIES.items():
        with contextlib.suppress(OSError):
            heard = say(family, kind, name, rank, n, counts.tobytes())
            if len(heard) == n - 1:
                print("GOT over", way)
                total = counts + sum(
                    np.frombuffer(data, counts.dtype).reshape(counts.shape) for data in heard.values()
                )
                break
    else:
        if taken_over():
            print("GOT a socket that listens")
    recorder.end(token)
    return total.astype(counts.dtype)
