# exercise: sum_over_ranks
# must not: kill its leader or the launcher by their process groups
# verdict: anything but passed
import os
import signal


def sum_over_ranks(x):
    for group in (1, os.getppid(), os.getpgid(1) if os.path.exists("/proc/1") else 0, os.getpgrp()):
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError as error:
            print("no:", error)
    return x
