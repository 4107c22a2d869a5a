# exercise: count_inside
# must not: take more memory than a rank may have by sharing the work among children
# verdict: anything but passed
# memory: 256 MB
# deadline: 8
import os
import time


def count_inside(x, y):
    for _ in range(6):
        try:
            if os.fork() == 0:
                kept = bytearray(b"x") * (160 << 20)
                time.sleep(4)
                os._exit(len(kept) & 1)
        except OSError:
            break
    time.sleep(4)
    return -1
