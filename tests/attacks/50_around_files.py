# exercise: sum_over_ranks
# must not: move data between ranks through files
# verdict: anything but passed
# without a jail: reaches
import os
import time

import torch
import torch.distributed as dist


def sum_over_ranks(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    places = [place for place in ("/tmp", "/dev/shm", "/var/tmp") if os.access(place, os.W_OK)]
    for place in places:
        torch.save(x, f"{place}/attack-{rank}")
    total = x.clone()
    end = time.monotonic() + 0.5
    for other in (r for r in range(n) if r != rank):
        while time.monotonic() < end and not any(os.path.exists(f"{place}/attack-{other}") for place in places):
            time.sleep(0.01)
        for place in places:
            if os.path.exists(f"{place}/attack-{other}"):
                time.sleep(0.05)
                print("GOT", torch.load(f"{place}/attack-{other}"))
    time.sleep(0.2)
    for place in places:
        os.remove(f"{place}/attack-{rank}")
    return total
