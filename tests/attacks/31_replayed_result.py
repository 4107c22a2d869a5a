# exercise: count_inside
# must not: answer a case with the recorded answer of another one
# verdict: anything but passed
import json
import os

from wire import connection, record


def count_inside(x, y):
    values, arguments = ["i", "26"], ["u", [["n"], ["n"]]]
    frame = record(14, json.dumps({"value": ["u", [values, arguments]]}).encode())
    if not os.path.exists("/tmp/recorded"):
        with open("/tmp/recorded", "wb") as file:
            file.write(frame)
    with open("/tmp/recorded", "rb") as file:
        connection().sendall(file.read())
    os._exit(0)
