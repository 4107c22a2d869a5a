# exercise: sum_over_ranks
# must not: leave the judge waiting for the second half of a record
# verdict: anything but passed
import os

from wire import connection, record


def sum_over_ranks(x):
    sock = connection()
    sock.sendall(record(14, b'{"value": ["n"]}', json_bytes=1000)[:25])
    sock.shutdown(1)
    os._exit(0)
