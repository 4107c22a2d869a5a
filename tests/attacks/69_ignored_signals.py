# exercise: count_inside
# must not: survive the end of its time by ignoring signals
# verdict: anything but passed
# deadline: 1
import signal


def count_inside(x, y):
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True:
        pass
