# exercise: count_inside
# must not: fill the judge's memory with printed lines
# verdict: anything but passed
from wire import connection, record


def count_inside(x, y):
    sock = connection()
    lines = record(13, b'{"text": "' + b"\\n" * 1_900_000 + b'"}')
    for _ in range(40):
        sock.sendall(lines)
    return -1
