# exercise: sum_over_ranks
# must not: make the judge read beyond what was sent
# verdict: anything but passed
import json
import os

from wire import connection, record


def sum_over_ranks(x):
    sock = connection()
    sizes = [(-8, 8), (0, 1 << 39), (1 << 39, 8), (0, -8)]
    offset, nbytes = sizes[x.numel() % len(sizes)]
    array = ["a", "float64", [abs(nbytes) // 8], offset, nbytes]
    sock.sendall(record(14, json.dumps({"value": ["u", [array, ["u", [array]]]]}).encode(), b"12345678"))
    os._exit(0)
