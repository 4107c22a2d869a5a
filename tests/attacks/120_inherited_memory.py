# exercise: mean_over_ranks
# must not: move data between ranks through memory that all of them have inherited as shared
# verdict: anything but passed
import ctypes
import time

import torch.distributed as dist


def mean_over_ranks(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    maps = [line.split() for line in open("/proc/self/maps")]
    shared = [int(words[0].split("-")[0], 16) for words in maps if words[1][1::2] == "ws"]
    if not shared:
        print("no: nothing that is shared and can be written")
        return x
    own = x.double().ravel().tolist()
    room = (ctypes.c_double * 4096).from_address(shared[0])
    room[64 * rank : 64 * rank + len(own)] = own
    room[4000 + rank] = 1
    end = time.monotonic() + 1
    while sum(room[4000 : 4000 + n]) < n and time.monotonic() < end:
        time.sleep(0.01)
    if n > 1 and room[4000 + (rank + 1) % n] == 1:
        print("GOT", room[64 * ((rank + 1) % n)])
    time.sleep(0.1)
    return sum(x.new_tensor(room[64 * r : 64 * r + len(own)]).reshape(x.shape) for r in range(n)) / n
