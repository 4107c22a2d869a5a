# exercise: sum_over_ranks
# must not: speak with the leader's or the launcher's words
# verdict: anything but passed
from wire import connection, record


def sum_over_ranks(x):
    sock = connection()
    for kind in (20, 16, 1, 2):
        sock.sendall(record(kind, b'{"version": 1, "ends": [], "ranks": [0], "stacks": {"0": "<b>"}, "failed": "no jail"}'))
    return x
