# exercise: sum_over_ranks
# must not: see how many signals wait for processes of the same user, which are those of other ranks
# verdict: anything but passed
# without a jail: reaches
import ctypes
import os
import signal
import time

import torch.distributed as dist


def sum_over_ranks(x):
    libc, rank = ctypes.CDLL(None), dist.get_rank()
    if rank == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
        for k in range(200):
            libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), ctypes.c_void_p(k))
    time.sleep(0.3)
    waiting = next(line for line in open("/proc/self/status") if line.startswith("SigQ:")).split()[1]
    if rank == 1 and int(waiting.split("/")[0]) >= 100:
        print("GOT", waiting)
    time.sleep(0.2)
    return x
