# exercise: count_inside
# must not: find a descriptor of the grader, of the launcher or of another rank
# verdict: anything but passed
import os
import socket
import stat


def count_inside(x, y):
    sockets = []
    for fd in range(1024):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        if stat.S_ISSOCK(mode):
            sockets.append(fd)
        elif fd > 2 and not stat.S_ISDIR(mode):
            print("open:", fd, os.readlink(f"/proc/self/fd/{fd}"))
    for fd in sockets[1:]:
        print("GOT", fd, socket.socket(fileno=os.dup(fd)))
    return -1
