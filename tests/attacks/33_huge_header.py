# exercise: sum_over_ranks
# must not: make the judge wait for, or make room for, a record of any size
# verdict: anything but passed
from wire import connection, record


def sum_over_ranks(x):
    connection().sendall(record(14, b"{}", json_bytes=2**32 - 1, payload_bytes=2**63))
    return x
