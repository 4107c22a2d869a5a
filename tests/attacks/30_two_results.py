# exercise: count_inside
# must not: send a second result when the first was no good, or after the end
# verdict: anything but passed
import json

from wire import connection, record


def count_inside(x, y):
    sock = connection()
    for number in range(3, -1, -1):
        result = {"value": ["u", [["i", str(number)], ["u", [["n"], ["n"]]]]]}
        sock.sendall(record(14, json.dumps(result).encode()))
    return -1
