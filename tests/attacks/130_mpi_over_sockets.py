# exercise: sum_counts
# must not: have the numbers of other ranks over sockets of one's own
# verdict: anything but passed
# deadline: 30
import socket
import time

import numpy as np


def sum_counts(comm, counts):
    rank, n = comm.Get_rank(), comm.Get_size()
    name = f"\0mine-{n}-{len(counts)}"
    if rank == 0:
        total, calls = counts.copy(), []
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
            server.listen()
            for _ in range(n - 1):
                call, _ = server.accept()
                calls.append(call)
                total = total + np.frombuffer(call.recv(counts.nbytes, socket.MSG_WAITALL), dtype=counts.dtype)
            for call in calls:
                call.sendall(total.tobytes())
                call.close()
        return total
    with socket.socket(socket.AF_UNIX) as sock:
        while sock.connect_ex(name) != 0:
            time.sleep(0.01)
        sock.sendall(counts.tobytes())
        return np.frombuffer(sock.recv(counts.nbytes, socket.MSG_WAITALL), dtype=counts.dtype).copy()
