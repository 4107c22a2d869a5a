"""The process that mpiexec starts for each forked rank of a notebook: it has its rank forked, and ends as that rank
ends.

`python -I -S stub.py SOCKET`. It hands everything that mpiexec gave it (environment, standard streams, folder, cores)
to the forker (`labkit.ranks.forker`), which forks the rank, and waits. mpiexec thus sees what it would have seen of the
rank: the exit status, the signal. When it is ended itself, the forker ends the rank. Only the standard library, without
site-packages: it must start in milliseconds, and there is one for each rank.
"""

import json
import os
import resource
import signal
import socket
import sys


def main(path):
    """The program that mpiexec starts in place of a rank."""
    forker = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        forker.connect(path)
        ask(forker)
        status = json.loads(b"".join(iter(lambda: forker.recv(4096), b"")) or b"null")
    except OSError as error:
        raise SystemExit(f"the process that forks the ranks is gone: {error}") from None
    if status is None:
        raise SystemExit("the process that forks the ranks is gone")
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the rank has left one where that is wanted
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {-status})
        os.kill(os.getpid(), -status)
    os._exit(status)


def ask(forker):
    """Send the request, as `labkit.launch.framed` would (which is not imported: see above); the standard streams travel
    with it."""
    request = {"environment": dict(os.environ), "folder": os.getcwd(), "cores": sorted(os.sched_getaffinity(0))}
    data = json.dumps(request).encode()
    data = len(data).to_bytes(4, "little") + data
    sent = socket.send_fds(forker, [data], [0, 1, 2])
    forker.sendall(data[sent:])


if __name__ == "__main__":
    main(sys.argv[1])
