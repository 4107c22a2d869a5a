# exercise: sum_over_ranks
# must not: end the judge by JSON nested too deeply
# verdict: anything but passed
from wire import connection, record


def sum_over_ranks(x):
    deep = b"[" * 900_000 + b"]" * 900_000
    connection().sendall(record(14, b'{"value": ' + deep + b"}"))
    return x
