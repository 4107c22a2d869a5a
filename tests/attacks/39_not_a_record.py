# exercise: sum_over_ranks
# must not: end the judge by bytes that are no record, or a pickle
# verdict: anything but passed
import os
import pickle

from wire import connection


class Touch:
    def __reduce__(self):
        return os.system, ("touch @COURSE@/pwned",)


def sum_over_ranks(x):
    connection().sendall(pickle.dumps(Touch()) + b"\0" * 100_000)
    return x
