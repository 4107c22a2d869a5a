# exercise: count_inside
# must not: keep memory in the buffers of sockets, which no limit of a process counts
# verdict: anything but passed
# memory: 256 MB
# deadline: 8
import os
import socket
import time


def count_inside(x, y):
    kept, held = [], 0
    for _ in range(6):
        if os.fork() == 0:
            break
    try:
        for _ in range(480):
            ends = socket.socketpair()
            kept.append(ends)
            for end in ends:
                end.setblocking(False)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
                while True:
                    try:
                        held += end.send(bytes(1 << 16))
                    except BlockingIOError:
                        break
    except OSError as error:
        print("no:", error)
    time.sleep(3)
    print("GOT", held >> 20, "MB")
    return -1
