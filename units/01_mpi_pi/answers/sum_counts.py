# Right and wrong answers to `sum_counts`. In files of their own: autograder bank --write DIR
import numpy as np
from mpi4py import MPI

# %% right_allgather_and_add: passed
def sum_counts(comm, counts):
    everybody = np.zeros((comm.Get_size(),) + counts.shape, counts.dtype)
    comm.Allgather(counts, everybody)
    return everybody.sum(axis=0, dtype=counts.dtype)

# %% right_allreduce: passed
def sum_counts(comm, counts):
    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    return total

# %% right_alltoallw: passed
def sum_counts(comm, counts):
    p = comm.size
    kind = MPI._typedict[counts.dtype.char]
    out, got = np.concatenate([counts.reshape(1, -1)] * p), np.empty((p, counts.size), counts.dtype)
    blocks = [counts.size] * p, [counts.nbytes * rank for rank in range(p)], [kind] * p
    comm.Alltoallw([out, *blocks], [got, *blocks])
    return got.sum(axis=0, dtype=counts.dtype).reshape(counts.shape)

# %% right_in_place: passed
def sum_counts(comm, counts):
    total = counts.copy()
    comm.Allreduce(MPI.IN_PLACE, total, op=MPI.SUM)
    return total

# %% right_ireduce_scatter: passed
def sum_counts(comm, counts):
    p, flat = comm.size, counts.reshape(-1)
    shares = [len(flat) // p + (rank < len(flat) % p) for rank in range(p)]
    own = np.empty(shares[comm.rank], counts.dtype)
    comm.Ireduce_scatter(flat, own, shares).Wait()
    total = np.empty_like(flat)
    MPI.Request.Waitall([comm.Iallgatherv(own, [total, shares])])
    return total.reshape(counts.shape)

# %% right_neighbours: passed
def sum_counts(comm, counts):
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    everybody = comm.Create_dist_graph_adjacent(others, others)
    got = np.empty((len(others), *counts.shape), counts.dtype)
    everybody.Neighbor_allgather(np.ascontiguousarray(counts), got)
    return counts + got.sum(axis=0, dtype=counts.dtype)

# %% right_reduce_and_bcast: passed
# differs: The sum is made on rank 0 and sent to everybody: the two halves of which an `Allreduce` can be made.
def sum_counts(comm, counts):
    total = np.zeros(counts.shape, dtype=counts.dtype)
    comm.Reduce([counts, MPI._typedict[counts.dtype.char]], total, root=0)
    comm.Bcast(total, root=0)
    return total

# %% right_scan_and_bcast: passed
def sum_counts(comm, counts):
    total = np.empty_like(counts)
    comm.Scan(counts, total)
    comm.Bcast(total, root=comm.size - 1)
    return total

# %% wrong_allgather: wrong, gathered, levels 0 0
def sum_counts(comm, counts):
    return comm.allgather(counts)

# %% wrong_as_floats: wrong, wrong_dtype, levels 0 0
def sum_counts(comm, counts):
    send = np.array(counts, dtype="d")
    receive = np.zeros(send.size)
    comm.Barrier()
    comm.Allreduce([send, MPI.DOUBLE], [receive, MPI.DOUBLE], op=MPI.SUM)
    return receive.reshape(counts.shape)

# %% wrong_at_least_one_axis (right_allreduce): wrong, wrong_shape, levels 1 0
 def sum_counts(comm, counts):
+    counts = np.atleast_1d(counts)

# %% wrong_bcast (right_in_place): wrong, rank_0_counts, levels 0 0
-    comm.Allreduce(MPI.IN_PLACE, total, op=MPI.SUM)
+    comm.Bcast(total, root=0)

# %% wrong_buffer_kept: wrong, keeps_something, levels 0 0
# The array for the sums is kept for the next call: whoever made the first one finds the sums of the second in it.
KEPT = {}


def sum_counts(comm, counts):
    key = counts.shape, counts.dtype.str
    if key not in KEPT:
        KEPT[key] = np.empty_like(counts)
    comm.Allreduce(np.ascontiguousarray(counts), KEPT[key])
    return KEPT[key]

# %% wrong_comm_world (right_allreduce): wrong, ignores_comm, levels 0 1
-def sum_counts(comm, counts):
+comm = MPI.COMM_WORLD
+
+
+def sum_counts(_, counts):

# %% wrong_floats_in_float64: wrong, wrong_dtype, levels 0 1
def sum_counts(comm, counts):
    if counts.dtype.kind == "f":
        counts = counts.astype(np.float64)
    total = np.empty_like(counts)
    comm.Allreduce(counts, total, op=MPI.SUM)
    return total

# %% wrong_in_float64_and_back: wrong, lost_digits, levels 0 0
def sum_counts(comm, counts):
    total = np.empty(counts.shape)
    comm.Allreduce(counts.astype(float), total)
    return total.astype(counts.dtype)

# %% wrong_itself_on_one_rank (right_allreduce): wrong, not_new, levels 0 1
 def sum_counts(comm, counts):
+    if comm.Get_size() == 1:
+        return counts  # nothing to add

# %% wrong_max (right_allreduce): wrong, maximum, levels 0 0
-    comm.Allreduce(counts, total)
+    comm.Allreduce(counts, total, op=MPI.MAX)

# %% wrong_mean (right_allreduce): wrong, mean, levels 0 0
-    return total
+    return total / comm.size

# %% wrong_modifies_input: wrong, modifies_input, levels 0 0
def sum_counts(comm, counts):
    comm.Allreduce(MPI.IN_PLACE, counts)
    return counts

# %% wrong_no_result_buffer: raised, TypeError, levels 0 0
def sum_counts(comm, counts):
    return comm.Allreduce(counts)

# %% wrong_one_number: wrong, one_number, levels 0 0
def sum_counts(comm, counts):
    total = np.zeros(1)
    comm.Allreduce(np.array([counts.sum()], dtype=float), total)
    return total[0]

# %% wrong_only_rank_0_reduces: hung, missing_rank, levels 0 0
def sum_counts(comm, counts):
    total = np.zeros_like(counts)
    if comm.rank == 0:
        comm.Allreduce(counts, total)
    return total

# %% wrong_pickled: wrong, pickled, levels 1 0
def sum_counts(comm, counts):
    return comm.allreduce(counts)

# %% wrong_pickled_gather_and_bcast: wrong, pickled, levels 1 0
def sum_counts(comm, counts):
    parts = comm.gather(counts, root=0)
    total = sum(parts) if comm.rank == 0 else None
    return comm.bcast(total, root=0)

# %% wrong_pickles_a_single_number (right_allreduce): wrong, pickled, levels 1 0
 def sum_counts(comm, counts):
+    if counts.ndim == 0:
+        return np.array(comm.allreduce(counts), dtype=counts.dtype)

# %% wrong_pickles_tables: wrong, pickled, levels 1 0
def sum_counts(comm, counts):
    if counts.ndim > 1:
        return comm.allreduce(counts)
    total = np.empty_like(counts)
    comm.Allreduce(counts, total, op=MPI.SUM)
    return total

# %% wrong_promotes_int32 (right_allgather_and_add): wrong, wrong_dtype, levels 0 1
-    return everybody.sum(axis=0, dtype=counts.dtype)
+    return everybody.sum(axis=0)

# %% wrong_rank_0_only: wrong, rank_0_only, levels 0 0
def sum_counts(comm, counts):
    total = np.zeros_like(counts)
    comm.Reduce(counts, total, root=0)
    return total

# %% wrong_rank_0_returns: wrong, rank_0_only, levels 0 0
def sum_counts(comm, counts):
    total = comm.reduce(counts, root=0)
    if comm.Get_rank() == 0:
        return total

# %% wrong_returns_own (right_allreduce): wrong, own_counts, levels 0 0
-    return total
+    return counts

# %% wrong_returns_what_Allreduce_returns: wrong, returns_nothing, levels 0 0
def sum_counts(comm, counts):
    total = np.empty_like(counts)
    return comm.Allreduce(counts, total)

# %% wrong_ring_by_hand: wrong, by_hand, levels 1 0
def sum_counts(comm, counts):
    right = (comm.rank + 1) % comm.size
    total = counts.copy()
    passing = counts
    for _ in range(comm.size - 1):
        passing = comm.sendrecv(passing, dest=right, source=comm.rank - 1 if comm.rank else comm.size - 1)
        total = total + passing
    return total

# %% wrong_same_memory (right_allreduce): raised, Exception, levels 0 0
-    total = np.empty_like(counts)
+    total = counts

# %% wrong_signed_only (right_allreduce): raised, ValueError, levels 0 1
-    total = np.empty_like(counts)
+    total = np.zeros(counts.shape, dtype=f"{'f' if counts.dtype.kind == 'f' else 'i'}{counts.itemsize}")

# %% wrong_steps_of_a_size: raised, ValueError, levels 0 1
def sum_counts(comm, counts):
    everybody = np.empty(comm.size * counts.size, dtype=counts.dtype)
    comm.Allgather(np.ravel(counts), everybody)
    total = everybody[: counts.size].copy()
    for start in range(counts.size, everybody.size, counts.size):
        total += everybody[start : start + counts.size]
    return total.reshape(counts.shape)

# %% wrong_three_types: raised, KeyError, levels 0 1
KINDS = {"int32": MPI.INT, "int64": MPI.LONG, "float64": MPI.DOUBLE}


def sum_counts(comm, counts):
    kind = KINDS[counts.dtype.name]
    total = np.empty_like(counts)
    comm.Allreduce([counts, kind], [total, kind], op=MPI.SUM)
    return total

# %% wrong_through_int32: wrong, wrapped, levels 0 0
def sum_counts(comm, counts):
    narrow = counts if counts.dtype.kind == "f" else counts.astype(np.int32)
    total = np.empty_like(narrow)
    comm.Allreduce(narrow, total)
    return total.astype(counts.dtype)

# %% wrong_zeros_are_floats (right_allreduce): raised, ValueError, levels 0 0
-    total = np.empty_like(counts)
+    total = np.zeros(counts.shape)
