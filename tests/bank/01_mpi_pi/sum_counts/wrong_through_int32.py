# verdict: wrong, diagnosis: wrapped
import numpy as np


def sum_counts(comm, counts):
    narrow = counts if counts.dtype.kind == "f" else counts.astype(np.int32)
    total = np.empty_like(narrow)
    comm.Allreduce(narrow, total)
    return total.astype(counts.dtype)
