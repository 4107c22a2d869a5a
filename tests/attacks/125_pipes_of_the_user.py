# exercise: sum_over_ranks
# must not: notice at the size of a new pipe that other ranks have used up what all pipes of a user may hold
# verdict: anything but passed
import fcntl
import os
import time

import torch.distributed as dist


def sum_over_ranks(x):
    rank, kept = dist.get_rank(), []
    try:
        if rank == 0:
            for _ in range(80):
                kept.append(os.pipe())
                fcntl.fcntl(kept[-1][0], 1031, 1 << 20)  # F_SETPIPE_SZ
    except OSError as error:
        print("no:", error)
    time.sleep(0.3)
    try:
        kept.append(os.pipe())
        if rank == 1 and fcntl.fcntl(kept[-1][0], 1032) < 65536:  # F_GETPIPE_SZ
            print("GOT a small pipe")
    except OSError as error:
        print("no:", error)
    time.sleep(0.3)
    for ends in kept:
        for end in ends:
            os.close(end)
    return x
