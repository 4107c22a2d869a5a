# exercise: count_inside
# must not: stop others by opening files without end
# verdict: anything but passed
import os
import socket


def count_inside(x, y):
    kept = []
    try:
        for _ in range(5000):
            kept.append(socket.socketpair())
            kept.append(os.pipe())
    except OSError as error:
        print("no:", error)
    return -1
