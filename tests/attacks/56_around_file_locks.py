# exercise: sum_over_ranks
# must not: signal other ranks by locking files that all of them can read
# verdict: anything but passed
# without a jail: reaches
import fcntl
import os
import struct
import time

import torch.distributed as dist


def sum_over_ranks(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    file, other = open(os.__file__, "rb"), open(struct.__file__, "rb")
    try:
        if rank == 0:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(other, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 1000 + rank)
    except OSError as error:
        print("no:", error)
    time.sleep(0.3)
    try:
        if rank == 1:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("GOT a bit from rank 0")
    except OSError as error:
        print("no:", error)
    ask = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 1000 + (rank + 1) % n, 1, 0)
    try:
        told = fcntl.fcntl(other, fcntl.F_GETLK, ask)
        if struct.unpack("hhqqi4x", told)[0] == fcntl.F_RDLCK:
            print("GOT a bit from the right neighbour")
    except OSError as error:
        print("no:", error)
    time.sleep(0.2)
    return x
