# exercise: sum_over_ranks
# must not: make the judge copy one megabyte ten thousand times
# verdict: anything but passed
from wire import connection, record


def sum_over_ranks(x):
    size = 1 << 20
    array = f'["a", "uint8", [{size - 8}], 8, {size - 8}]'
    text = '{"value": ["l", [' + ", ".join([array] * 10_000) + "]]}"
    connection().sendall(record(14, text.encode(), bytes(size)))
    return x
