# exercise: count_inside
# must not: keep memory of the kernel that is in no process: sets of semaphores, rules of Landlock, sockets in messages
# verdict: anything but passed
# without a jail: reaches
# memory: 256 MB
# deadline: 8
import ctypes
import platform
import socket


def count_inside(x, y):
    libc = ctypes.CDLL(None, use_errno=True)
    sets = [number for number in (libc.semget(0, 100, 0o600) for _ in range(3)) if number >= 0]
    if sets:
        print("GOT", len(sets), "sets of semaphores")
    for number in sets:
        libc.semctl(number, 0, 0)  # IPC_RMID
    if platform.machine() == "x86_64" and libc.syscall(444, None, ctypes.c_size_t(0), 1) >= 0:
        print("GOT Landlock")
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    under_way = 0
    try:
        for _ in range(600):
            ends = socket.socketpair()
            socket.send_fds(ours, [b"x"], [end.fileno() for end in ends])
            under_way += 2
            for end in ends:
                end.close()
    except OSError as error:
        print("no:", error)
    if under_way > 512:
        print("GOT", under_way, "sockets under way")
    return -1
