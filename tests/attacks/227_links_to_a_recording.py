# exercise: sum_counts
# must not: hold the grader by hundreds of names for one recording, each of which it would read again and again
# verdict: anything but passed
import os
import time

import numpy as np


def sum_counts(comm, counts):
    from labkit.watch import recorder

    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    if comm.Get_rank() == 0:
        own = str(recorder._recorder.path)
        for _ in range(4090):
            recorder.end(recorder.begin("Allreduce", nbytes=8))
        for k in range(400):
            os.link(own, f"{os.path.dirname(own)}/rank{1000 + k}.flight")
        time.sleep(0.5)
    return total
