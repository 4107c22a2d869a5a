# exercise: sum_over_ranks
# must not: end the judge by operations with impossible fields
# verdict: anything but passed
# deadline: 3
import json
import os
import time

import torch.distributed as dist
from wire import connection, record

FIELDS = [
    {"op": "broadcast", "root": {"a": 1}},
    {"op": "broadcast", "root": "zero"},
    {"op": "all_reduce", "dtype": "object", "reduce": "sum"},
    {"op": "all_reduce", "dtype": "float32", "reduce": "__import__"},
    {"op": "recv", "peer": 0, "shape": [2**62, 2**62], "dtype": "float32"},
    {"op": "recv", "peer": 0, "tag": 10**300, "shape": [1], "dtype": "float32"},
    {"op": "scatter", "sizes": [-1, 2**70], "root": 0},
    {"op": "<script>alert(1)</script>", "line": "</svg><script>alert(1)</script>"},
    {"op": "all_to_all", "sizes": [1e308, 5]},
    {"op": "reduce_scatter", "sizes": [0, 0], "shape": [7], "dtype": "int8", "reduce": "sum"},
]


def sum_over_ranks(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    sock = connection()
    fields = FIELDS[(x.numel() + rank) % len(FIELDS)]
    operation = {"ticket": 10**6, "group": "0", "members": list(range(n)), **fields}
    sock.sendall(record(10, json.dumps(operation).encode()) + record(11, b'{"ticket": 1000000}'))
    os._exit(0) if rank else time.sleep(1000)
