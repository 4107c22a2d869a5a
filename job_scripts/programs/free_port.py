"""Prints a TCP port that is free on this node, for ranks to meet at: `free_port.py JOB`.

Two jobs on one node must not meet at the same port, so the search begins at one that depends on the job's number. It
stays below 32768, where the kernel begins to take ports for outgoing connections.
"""

import socket
import sys

FIRST, PORTS = 20_000, 12_000


def free_port(job: int) -> int:
    """The first port from FIRST + job (modulo PORTS) on that can be bound. Raises OSError where there is none."""
    for offset in range(PORTS):
        port = FIRST + (job + offset) % PORTS
        with socket.socket() as trial:
            try:
                trial.bind(("", port))
            except OSError:
                continue
            return port
    raise OSError(f"no free port from {FIRST} to {FIRST + PORTS - 1} on this node")


if __name__ == "__main__":
    print(free_port(int("".join(filter(str.isdigit, sys.argv[1])) or 0)))
