# exercise: sum_over_ranks
# must not: see by ustat(2) how full the /tmp of another rank is, wherever that is mounted
# verdict: anything but passed
import ctypes
import os
import platform
import time

import torch.distributed as dist


def sum_over_ranks(x):
    rank = dist.get_rank()
    if platform.machine() != "x86_64":
        return x
    with open("/tmp/filled", "wb") as file:
        file.write(bytes(4096 * (1000 + rank)))
    time.sleep(0.3)
    libc, own = ctypes.CDLL(None), {os.stat(path).st_dev for path in ("/tmp", "/dev/shm")}
    for device in set(range(1, 200)) - own:
        found = ctypes.create_string_buffer(64)
        if libc.syscall(136, ctypes.c_uint(device), found) == 0:
            print("GOT", device, int.from_bytes(found.raw[:4], "little"))
    time.sleep(0.2)
    os.remove("/tmp/filled")
    return x
