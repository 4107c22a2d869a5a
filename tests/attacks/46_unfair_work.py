# exercise: sum_over_ranks
# must not: keep the judge busy for minutes with many small messages
# verdict: anything but passed
# deadline: 5
import json
import time

import torch.distributed as dist
from wire import connection, record


def sum_over_ranks(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if rank > 1:
        return x
    sock, last = connection(), 30_000
    shape = {"dtype": "uint8", "shape": [1], "group": "0", "members": list(range(n)), "peer": 1 - rank}
    for k in range(last):
        operation = {"op": "recv" if rank else "send", "ticket": 10**6 + k, "tag": last - k if rank else k, **shape}
        sock.sendall(record(10, json.dumps(operation).encode(), b"" if rank else b"x"))
    sock.sendall(record(11, json.dumps({"ticket": 10**6 + last - 1}).encode()))
    time.sleep(1000)
