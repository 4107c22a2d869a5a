# exercise: count_inside
# must not: starve an honest neighbour of processes
# verdict: anything but passed
# beside an honest neighbour
# deadline: 2
import os
import time


def count_inside(x, y):
    end = time.monotonic() + 1
    for _ in range(200):
        try:
            if os.fork() == 0:
                while time.monotonic() < end:
                    pass
                os._exit(0)
        except OSError:
            continue
    time.sleep(1000)
