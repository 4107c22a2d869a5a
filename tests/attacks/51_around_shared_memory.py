# exercise: sum_over_ranks
# must not: move data between ranks through shared memory
# verdict: anything but passed
# without a jail: reaches
import time
from multiprocessing import resource_tracker, shared_memory

import torch.distributed as dist


def sum_over_ranks(x):
    resource_tracker.register = resource_tracker.unregister = lambda *a, **k: None
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = shared_memory.SharedMemory(f"attack-{rank}", create=True, size=64)
    mine.buf[0] = 40 + rank
    time.sleep(0.3)
    for other in range(n):
        try:
            theirs = shared_memory.SharedMemory(f"attack-{other}")
        except OSError as error:
            print("no:", error)
            continue
        if other != rank and theirs.buf[0] == 40 + other:
            print("GOT", theirs.buf[0])
        theirs.close()
    time.sleep(0.2)
    mine.close()
    mine.unlink()
    return x
