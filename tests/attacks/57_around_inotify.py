# exercise: sum_over_ranks
# must not: watch which files of the libraries other ranks open
# verdict: anything but passed
# without a jail: reaches
import ctypes
import os
import time

import torch.distributed as dist


def sum_over_ranks(x):
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.inotify_init1(0o4000)  # not blocking
    if handle >= 0 and dist.get_rank() == 0:
        libc.inotify_add_watch(handle, os.fsencode(os.__file__.replace("os.py", "this.py")), 0x20)  # IN_OPEN
    time.sleep(0.3)
    if dist.get_rank() == 1:
        open(os.__file__.replace("os.py", "this.py")).close()
    time.sleep(0.2)
    try:
        print("GOT", os.read(handle, 100))
    except OSError as error:
        print("no:", error)
    return x
