# exercise: sum_over_ranks
# must not: fill the judge's memory with messages that nobody receives
# verdict: anything but passed
import json

import torch.distributed as dist
from wire import connection, record


def sum_over_ranks(x):
    if dist.get_rank():
        return x
    sock, size = connection(), 32 << 20
    for ticket in range(1000, 1012):
        send = {"op": "send", "ticket": ticket, "group": "0", "members": [0, 1], "peer": 1, "dtype": "uint8", "shape": [size]}
        sock.sendall(record(10, json.dumps(send).encode(), bytes(size)))
    return x
