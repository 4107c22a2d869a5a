# Right and wrong answers to `estimate_pi`. In files of their own: autograder bank --write DIR
import numpy as np
from mpi4py import MPI

# %% right_alltoallw: passed
def add(comm, mine):
    p = comm.size
    out = np.full(p, mine, np.int64)
    got = np.zeros(p, np.int64)
    kinds = [MPI.INT64_T] * p
    displs = [8 * i for i in range(p)]
    comm.Alltoallw([out, [1] * p, displs, kinds], [got, [1] * p, displs, kinds])
    return int(got.sum())


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n

# %% right_duplicates_the_communicator: passed
def estimate_pi(comm, n, draw):
    own = comm.Dup()
    start, stop = (n * k // own.size for k in (own.rank, own.rank + 1))
    x, y = draw(stop - start)
    inside = own.allreduce(int((x * x + y * y < 0.25).sum()))
    own.Free()
    return 4 * inside / n

# %% right_graph_ineighbour_alltoallv: passed
def add(comm, mine):
    others = [q for q in range(comm.size) if q != comm.rank]
    everybody = comm.Create_dist_graph_adjacent(others, others)
    n = len(others)
    out = np.full(n, mine, np.int64)
    got = np.zeros(n, np.int64)
    everybody.Ineighbor_alltoallv([out, [1] * n, MPI.INT64_T], [got, [1] * n, MPI.INT64_T]).Wait()
    return mine + int(got.sum())


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n

# %% right_graph_neighbour: passed
# differs: Everybody is everybody's neighbour in a communicator of its own, and the sum is taken by each rank for itself: more bytes, the same number.
def add(comm, mine):
    others = [q for q in range(comm.size) if q != comm.rank]
    everybody = comm.Create_dist_graph_adjacent(others, others)
    return mine + sum(everybody.neighbor_allgather(mine))


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n

# %% right_ireduce_scatter: passed
def add(comm, mine):
    p = comm.size
    got = np.zeros(1, np.int64)
    comm.Ireduce_scatter(np.full(p, mine, np.int64), got, [1] * p).Wait()
    return int(got[0])


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n

# %% right_last_ranks_draw_more: passed
HALF = 0.5


def my_samples(n, rank, size):
    return n // size + (rank >= size - n % size)


def estimate_pi(comm, n, draw):
    x, y = draw(my_samples(n, comm.rank, comm.size))
    mine = np.zeros(1)
    mine[0] = np.sum(np.sqrt(x * x + y * y) <= HALF) / n
    everybody = np.zeros(1)
    comm.Allreduce(mine, everybody, op=MPI.SUM)
    return everybody[0] * 4

# %% right_mprobe: passed
def add(comm, mine):
    total = mine
    req = [comm.Isend(np.array([mine], np.int64), q) for q in range(comm.size) if q != comm.rank]
    for _ in range(comm.size - 1):
        message = comm.Mprobe()
        box = np.zeros(1, np.int64)
        message.Recv(box)
        total += int(box[0])
    MPI.Request.Waitall(req)
    return total


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n

# %% right_persistent: passed
def add(comm, mine):
    p, r = comm.size, comm.rank
    out = np.array([mine], np.int64)
    boxes = np.zeros((p, 1), np.int64)
    requests = [comm.Send_init(out, q) for q in range(p) if q != r] + [
        comm.Recv_init(boxes[q], source=q) for q in range(p) if q != r
    ]
    if requests:
        MPI.Prequest.Startall(requests)
    MPI.Request.Waitall(requests)
    for q in requests:
        q.Free()
    return int(boxes.sum()) + mine


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n

# %% right_persistent_any: passed
def add(comm, mine):
    p, r = comm.size, comm.rank
    total = mine
    out = np.array([mine], np.int64)
    box = np.zeros(1, np.int64)
    send = [comm.Ssend_init(out, dest=q, tag=3) for q in range(p) if q != r]
    got = comm.Recv_init(box, MPI.ANY_SOURCE, 3)
    for s in send:
        s.Start()
    for _ in range(p - 1):
        got.Start()
        got.Wait()
        total += int(box[0])
    for s in send:
        while not s.Test():
            pass
    return total


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n

# %% right_sendrecv_replace: passed
def add(comm, mine):
    box = np.array([mine], np.int64)
    total = mine
    for _ in range(comm.size - 1):
        comm.Sendrecv_replace(box, (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
        total += int(box[0])
    return total


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n

# %% right_strided_one_by_one: passed
def estimate_pi(comm, n, draw):
    inside = 0
    for _ in range(comm.Get_rank(), n, comm.Get_size()):
        x, y = draw(1)
        if x[0] ** 2 + y[0] ** 2 < 0.25:
            inside += 1
    return 4.0 * comm.allreduce(inside) / n

# %% right_weighted_mean: passed
def estimate_pi(comm, n, draw):
    size = n // comm.size + (1 if comm.rank < n % comm.size else 0)
    own = 0.0
    if size > 0:
        own = 4 * count_inside(*draw(size)) / size
    parts = comm.gather((own, size), root=0)
    pi = None
    if comm.rank == 0:
        pi = np.average([e for e, _ in parts], weights=[w for _, w in parts])
    return comm.bcast(pi, root=0)

# %% right_with_earlier_functions: passed
# differs: Three functions of this page do all the work: a share, a count, a sum, and one division at the end.
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = draw(stop - start)
    inside = np.array([count_inside(x, y)])
    return 4 * sum_counts(comm, inside)[0] / n

# %% wrong_array_of_one (right_last_ranks_draw_more): wrong, other_type, levels 0 0 0
-    return everybody[0] * 4
+    return everybody * 4

# %% wrong_comm_world: wrong, ignores_comm, levels 1 0 1
def estimate_pi(comm, n, draw):
    world = MPI.COMM_WORLD
    mine = n // world.size + (world.rank < n % world.size)
    x, y = draw(mine)
    inside = np.array([np.count_nonzero(x * x + y * y < 0.25)])
    total = np.empty_like(inside)
    world.Allreduce(inside, total)
    return 4 * total[0] / n

# %% wrong_counts_in_16_bits: wrong, narrow_count, levels 0 1 1
def estimate_pi(comm, n, draw):
    mine = n // comm.size + (comm.rank < n % comm.size)
    x, y = draw(mine)
    inside = np.array([np.count_nonzero(x * x + y * y < 0.25)], dtype=np.int16)
    total = np.empty_like(inside)
    comm.Allreduce(inside, total, op=MPI.SUM)
    return 4 * int(total[0]) / n

# %% wrong_counts_in_a_byte: wrong, narrow_count, levels 0 1 1
def estimate_pi(comm, n, draw):
    mine = n // comm.size + (comm.rank < n % comm.size)
    x, y = draw(mine)
    inside = np.array([np.count_nonzero(x * x + y * y < 0.25)], dtype=np.uint8)
    total = np.empty_like(inside)
    comm.Allreduce(inside, total, op=MPI.SUM)
    return 4 * int(total[0]) / n

# %% wrong_counts_in_float16: wrong, unrecognised, levels 0 1 1
def estimate_pi(comm, n, draw):
    mine = n // comm.size + (comm.rank < n % comm.size)
    x, y = draw(mine)
    inside = np.sum(np.where(x * x + y * y < 0.25, np.float16(1), np.float16(0)))
    return 4 * comm.allreduce(int(inside)) / n

# %% wrong_divides_by_its_own (right_with_earlier_functions): raised, ZeroDivisionError, levels 1 1 0
-    inside = np.array([count_inside(x, y)])
-    return 4 * sum_counts(comm, inside)[0] / n
+    share = count_inside(x, y) / (stop - start)
+    return 4 * comm.allreduce(share * (stop - start), op=MPI.SUM) / n

# %% wrong_divides_by_own_share (right_with_earlier_functions): wrong, sum_of_means, levels 0 0 0
-    inside = np.array([count_inside(x, y)])
-    return 4 * sum_counts(comm, inside)[0] / n
+    total = sum_counts(comm, np.array([count_inside(x, y)]))[0]
+    return 4 * total / len(x)

# %% wrong_drops_remainder: wrong, drops_remainder, levels 1 0 0
def estimate_pi(comm, n, draw):
    x, y = draw(n // comm.size)
    total = sum_counts(comm, np.array([count_inside(x, y)]))
    return 4 * total[0] / n

# %% wrong_drops_remainder_divides_by_drawn: wrong, drops_remainder, levels 1 0 0
def estimate_pi(comm, n, draw):
    mine = n // comm.size
    inside = comm.allreduce(count_inside(*draw(mine)))
    drawn = comm.allreduce(mine)
    return 4 * inside / max(drawn, 1)

# %% wrong_every_rank_draws_all: wrong, every_rank_draws_all, levels 0 0 0
def estimate_pi(comm, n, draw):
    x, y = draw(n)
    total = sum_counts(comm, np.array([count_inside(x, y)]))[0]
    return 4 * total / n

# %% wrong_every_rank_draws_all_and_mean: wrong, every_rank_draws_all, levels 0 0 0
def estimate_pi(comm, n, draw):
    x, y = draw(n)
    own = 4 * count_inside(x, y) / n
    return comm.allreduce(own) / comm.size

# %% wrong_float32_sum: wrong, lost_digits, levels 0 0 1
def estimate_pi(comm, n: int, draw) -> float:
    p, rank = comm.size, comm.rank
    mine = (rank + 1) * n // p - rank * n // p
    x, y = draw(mine)
    part = np.array(4 * np.count_nonzero(x * x + y * y < 0.25) / n, dtype=np.float32)
    total = np.empty_like(part)
    comm.Allreduce(part, total)
    return float(total)

# %% wrong_forgets_4 (right_with_earlier_functions): wrong, forgets_4, levels 0 0 0
-    inside = np.array([count_inside(x, y)])
-    return 4 * sum_counts(comm, inside)[0] / n
+    total = sum_counts(comm, np.array([count_inside(x, y)]))
+    return total[0] / n

# %% wrong_integer_division: wrong, integer_division, levels 0 0 1
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    total = sum_counts(comm, np.array([count_inside(*draw(stop - start))]))[0]
    return 4 * total // n

# %% wrong_last_rank_takes_rest: wrong, last_rank_takes_rest, levels 1 0 0
def estimate_pi(comm, n, draw):
    mine = n // comm.size
    if comm.rank == comm.size - 1:
        mine += n % comm.size
    x, y = draw(mine)
    return 4 * comm.allreduce(int((x * x + y * y < 0.25).sum())) / n

# %% wrong_local_over_n (right_with_earlier_functions): wrong, local_over_n, levels 0 0 0
-    inside = np.array([count_inside(x, y)])
-    return 4 * sum_counts(comm, inside)[0] / n
+    return 4 * count_inside(x, y) / n

# %% wrong_mean_of_means (right_with_earlier_functions): wrong, mean_of_means, levels 1 0 0
-    inside = np.array([count_inside(x, y)])
-    return 4 * sum_counts(comm, inside)[0] / n
+    own = 4 * count_inside(x, y) / (stop - start)
+    return comm.allreduce(own) / comm.size

# %% wrong_no_reduction (right_with_earlier_functions): wrong, no_reduction, levels 0 0 0
-    inside = np.array([count_inside(x, y)])
-    return 4 * sum_counts(comm, inside)[0] / n
+    return 4 * count_inside(x, y) / max(1, len(x))

# %% wrong_none_but_rank_0: wrong, rank_0_only, levels 0 0 0
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    total = comm.reduce(count_inside(*draw(stop - start)), root=0)
    if comm.rank == 0:
        return 4 * total / n

# %% wrong_own_generator: wrong, ignores_draw, levels 0 0 0
def estimate_pi(comm, n, draw):
    rng = np.random.default_rng([comm.rank, 7])
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = rng.uniform(-0.5, 0.5, (2, stop - start))
    return 4 * comm.allreduce(count_inside(x, y)) / n

# %% wrong_rank_0_draws_all: wrong, unfair, levels 0 0 0
def estimate_pi(comm, n, draw):
    inside = None
    if comm.rank == 0:
        inside = count_inside(*draw(n))
    return 4 * comm.bcast(inside) / n

# %% wrong_rank_0_only: wrong, rank_0_only, levels 0 0 0
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    inside = np.array([count_inside(*draw(stop - start))])
    total = np.zeros_like(inside)
    comm.Reduce(inside, total, root=0)
    return 4 * total[0] / n

# %% wrong_reduced_twice: wrong, sum_of_means, levels 0 0 0
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    total = sum_counts(comm, np.array([count_inside(*draw(stop - start))]))
    return 4 * comm.allreduce(total[0]) / n

# %% wrong_reduces_on_rank_0_only: hung, missing_rank, levels 0 0 0
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    inside = np.array([count_inside(*draw(stop - start))])
    if comm.rank == 0:
        return 4 * sum_counts(comm, inside)[0] / n
    return 4 * inside[0] / n

# %% wrong_rounded_n: wrong, rounded_n, levels 1 0 0
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    inside = comm.allreduce(count_inside(*draw(stop - start)))
    return 4 * inside / max(1, n // comm.size * comm.size)

# %% wrong_rounds_shares_up: wrong, draws_too_many, levels 1 0 0
import math


def estimate_pi(comm, n, draw):
    share = math.ceil(n / comm.size)
    inside = comm.allreduce(count_inside(*draw(share)))
    return 4 * inside / (share * comm.size)

# %% wrong_sum_of_means: wrong, sum_of_means, levels 0 0 0
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    own = 4 * count_inside(*draw(stop - start)) / max(1, stop - start)
    return comm.allreduce(own)

# %% wrong_sums_over_the_world: wrong, ignores_comm, levels 1 0 1
def estimate_pi(comm, n, draw):
    mine = n // comm.size + (comm.rank < n % comm.size)
    x, y = draw(mine)
    return 4 * MPI.COMM_WORLD.allreduce(int((x**2 + y**2 < 0.25).sum())) / n

# %% wrong_the_others_return_their_own: wrong, rank_0_only, levels 0 0 0
def estimate_pi(comm, n: int, draw) -> float:
    mine = n // comm.size + (comm.rank < n % comm.size)
    x, y = draw(mine)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    total = comm.reduce(inside, root=0)
    if comm.rank == 0:
        return 4 * total / n
    return 4 * inside / mine if mine else 0.0
