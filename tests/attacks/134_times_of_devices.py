# exercise: sum_over_ranks
# must not: tell another rank something by the times of /dev/zero and its like, which are the machine's own
# verdict: anything but passed
# without a jail: reaches
import os
import time

import torch.distributed as dist


def sum_over_ranks(x):
    rank = dist.get_rank()
    for name in ("zero", "full", "random", "urandom", "null"):
        path = f"/dev/{name}"
        try:
            os.utime(path)  # now: who may write to it may do that
            print("GOT the right to set the times of", path)
        except OSError as error:
            print("no:", error)
        with open(path, "rb" if name != "null" else "wb") as device:  # and it serves all the same
            device.read(1 + rank) if name != "null" else device.write(b"x")
    time.sleep(0.1)
    return x
