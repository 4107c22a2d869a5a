# exercise: sum_over_ranks
# must not: end the judge by a value nested too deeply
# verdict: anything but passed
from wire import connection, record


def sum_over_ranks(x):
    value = b'["l", [' * 400 + b'["n"]' + b"]]" * 400
    connection().sendall(record(14, b'{"value": ' + value + b"}"))
    return x
