# exercise: sum_over_ranks
# must not: kill its leader, the launcher, the other ranks or the grader
# verdict: anything but passed
# deadline: 1
import os
import signal


def sum_over_ranks(x):
    for pid in (1, os.getppid(), int("@PID@"), -1):
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
            try:
                if pid != os.getpid():
                    os.kill(pid, number)
                    print("sent", number, "to", pid)
            except OSError as error:
                print("no:", error)
    return x
