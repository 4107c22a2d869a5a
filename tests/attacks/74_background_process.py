# exercise: count_inside
# must not: leave a process that outlives its case
# verdict: anything but passed
import os
import signal
import time


def count_inside(x, y):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    return -1
