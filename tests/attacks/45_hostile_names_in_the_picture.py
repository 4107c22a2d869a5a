# exercise: ring_all_reduce
# must not: bring a script into the picture under the card
# verdict: anything but passed
# deadline: 5
import json
import time

import torch.distributed as dist
from wire import connection, record


def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    line = "</text></svg><script>alert('ATTACK')</script><img src=x onerror=alert('ATTACK')>"
    send = {"op": "send", "peer": (rank + 1) % n, "dtype": "uint8", "shape": [1]}
    operation = {"ticket": 10**6, "group": "0", "members": list(range(n)), "line": line, **send}
    connection().sendall(record(10, json.dumps(operation).encode(), b"x") + record(11, b'{"ticket": 1000000}'))
    time.sleep(1000)
