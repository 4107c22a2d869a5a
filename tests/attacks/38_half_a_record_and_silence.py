# exercise: sum_over_ranks
# must not: hold up the judge longer than a case may take
# verdict: anything but passed
# deadline: 1
import time

from wire import connection, record


def sum_over_ranks(x):
    connection().sendall(record(14, b'{"value": ["n"]}', json_bytes=1000)[:25])
    time.sleep(1000)
