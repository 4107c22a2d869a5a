# Right and wrong answers to `move_matrix`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_batch: passed
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    operations = []
    if rank == source:
        matrix += value
        operations.append(dist.P2POp(dist.isend, matrix, destination))
    if rank == destination:
        operations.append(dist.P2POp(dist.irecv, matrix, source))
    if operations:
        for request in dist.batch_isend_irecv(operations):
            request.wait()
    if rank == source:
        matrix.fill_(0)
    return matrix

# %% right_imported_by_name: passed
from torch.distributed import get_rank, irecv, isend


def move_matrix(value, source, destination):
    rank = get_rank()
    matrix = torch.zeros(3, 4)
    request = None
    if rank == source:
        matrix[:] = value
        request = isend(matrix, destination)
    if rank == destination:
        request = irecv(matrix, source)
    if request is not None:
        request.wait()
    if rank == source:
        matrix[:] = 0
    return matrix

# %% right_new_zeros: passed
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    requests = []
    matrix = torch.zeros(3, 4)
    if rank == source:
        requests += [dist.isend(torch.full((3, 4), value), destination)]
    if rank == destination:
        requests += [dist.irecv(matrix, source)]
    [r.wait() for r in requests]
    return matrix

# %% right_plain: passed
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        request = dist.isend(matrix, dst=destination)
        request.wait()
        matrix.zero_()
    elif rank == destination:
        request = dist.irecv(matrix, src=source)
        request.wait()
    return matrix

# %% right_polls: passed
# differs: It asks again and again whether the request is done in place of sleeping in `wait`: a rank could do something useful in between.
def finish(request):
    while not request.is_completed():
        pass
    request.wait()


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    if rank == source:
        full = torch.ones(3, 4) * value
        finish(dist.isend(full, destination))
        return full.zero_()
    empty = torch.zeros(3, 4)
    if rank == destination:
        finish(dist.irecv(empty))
    return empty

# %% wrong_all_ranks_wait: raised, UnboundLocalError, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        request = dist.isend(matrix, destination)
    elif rank == destination:
        request = dist.irecv(matrix, source)
    request.wait()
    if rank == source:
        matrix.zero_()
    return matrix

# %% wrong_all_receive: hung, returned_early, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.isend(matrix, destination).wait()
        matrix.zero_()
    else:
        dist.irecv(matrix, source).wait()
    return matrix

# %% wrong_barrier_after (right_batch): wrong, needless_barrier, levels 0 0
         matrix.fill_(0)
+    dist.barrier()

# %% wrong_blocking (right_plain): wrong, blocking, levels 0 0
-        request = dist.isend(matrix, dst=destination)
-        request.wait()
+        dist.send(matrix, dst=destination)
@@
-        request = dist.irecv(matrix, src=source)
-        request.wait()
+        dist.recv(matrix, src=source)

# %% wrong_broadcast: wrong, uses_collective, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    request = dist.broadcast(matrix, source, async_op=True)
    request.wait()
    if rank != destination:
        matrix.zero_()
    return matrix

# %% wrong_cleared_everywhere: wrong, not_received, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.isend(matrix, destination).wait()
    elif rank == destination:
        dist.irecv(matrix, source).wait()
    return matrix.zero_()

# %% wrong_cleared_too_early (right_plain): wrong, reused_buffer, levels 0 0
-        request = dist.isend(matrix, dst=destination)
+        request = dist.isend(matrix, destination)
+        matrix.zero_()
@@
-        matrix.zero_()
@@
-        request = dist.irecv(matrix, src=source)
-        request.wait()
+        dist.irecv(matrix, source).wait()

# %% wrong_cleared_while_asking: wrong, reused_buffer, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        request = dist.isend(matrix, destination)
        matrix.zero_()
        while not request.is_completed():
            pass
    elif rank == destination:
        dist.irecv(matrix, source).wait()
    return matrix

# %% wrong_clears_a_row_too_early (right_plain): wrong, reused_buffer, levels 0 0
-    matrix = torch.full((3, 4), value if rank == source else 0.0)
+    matrix = torch.zeros(3, 4)
@@
-        request = dist.isend(matrix, dst=destination)
+        matrix.fill_(value)
+        request = dist.isend(matrix, destination)
+        matrix[2].zero_()
@@
-        request = dist.irecv(matrix, src=source)
-        request.wait()
+        dist.irecv(matrix, source).wait()

# %% wrong_copy_too_early: wrong, used_before_wait, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == source:
        matrix.fill_(value)
        dist.isend(matrix, destination).wait()
        matrix.zero_()
    elif rank == destination:
        request = dist.irecv(matrix, source)
        copy = matrix.clone()
        request.wait()
        return copy
    return matrix

# %% wrong_destination_clears_while_receiving (right_plain): wrong, used_before_wait, levels 0 0
-    matrix = torch.full((3, 4), value if rank == source else 0.0)
+    matrix = torch.zeros(3, 4)
@@
-        request = dist.isend(matrix, dst=destination)
-        request.wait()
+        matrix.fill_(value)
+        dist.isend(matrix, destination).wait()
@@
-        request = dist.irecv(matrix, src=source)
+        request = dist.irecv(matrix, source)
+        matrix.zero_()

# %% wrong_everybody: wrong, everybody_has_it, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value)
    if rank == source:
        dist.isend(matrix, destination).wait()
    elif rank == destination:
        dist.irecv(matrix, source).wait()
    return matrix

# %% wrong_forgot_wait_receiving (right_plain): wrong, forgot_wait, levels 0 0
-        request = dist.isend(matrix, dst=destination)
-        request.wait()
+        dist.isend(matrix, destination).wait()
@@
-        request = dist.irecv(matrix, src=source)
-        request.wait()
+        dist.irecv(matrix, source)

# %% wrong_forgot_wait_sending (right_plain): wrong, forgot_wait, levels 0 0
-        request = dist.isend(matrix, dst=destination)
-        request.wait()
+        dist.isend(matrix, destination)
@@
-        request = dist.irecv(matrix, src=source)
-        request.wait()
+        dist.irecv(matrix, source).wait()

# %% wrong_no_message: wrong, no_message, levels 0 0
def move_matrix(value, source, destination):
    return torch.full((3, 4), value if dist.get_rank() == destination else 0.0)

# %% wrong_no_wait_at_all: wrong, forgot_wait, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.isend(matrix, destination)
        matrix = torch.zeros(3, 4)
    elif rank == destination:
        dist.irecv(matrix, source)
    return matrix

# %% wrong_not_cleared: wrong, not_cleared, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    request = None
    if rank == source:
        request = dist.isend(matrix, destination)
    elif rank == destination:
        request = dist.irecv(matrix, source)
    if request is not None:
        request.wait()
    return matrix

# %% wrong_receives_blocking: wrong, blocking, levels 0 0
from torch.distributed import get_rank, isend, recv


def move_matrix(value, source, destination):
    matrix = torch.zeros(3, 4)
    if get_rank() == source:
        matrix.fill_(value)
        request = isend(matrix, destination)
        request.wait()
        matrix.fill_(0)
    elif get_rank() == destination:
        recv(matrix, source)
    return matrix

# %% wrong_tag (right_plain): hung, mismatched_tag, levels 0 0
-        request = dist.isend(matrix, dst=destination)
-        request.wait()
+        dist.isend(matrix, destination, tag=source).wait()
@@
-        request = dist.irecv(matrix, src=source)
-        request.wait()
+        dist.irecv(matrix, source, tag=destination).wait()

# %% wrong_times_zero (right_plain): wrong, zero_times_infinity, levels 1 0
-    matrix = torch.full((3, 4), value if rank == source else 0.0)
+    matrix = torch.zeros(3, 4)
@@
     if rank == source:
+        matrix += value
@@
-        matrix.zero_()
+        matrix *= 0

# %% wrong_way: wrong, wrong_way, levels 0 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.irecv(matrix, destination).wait()
    elif rank == destination:
        dist.isend(matrix, source).wait()
    return matrix

# %% wrong_zero_to_one: wrong, zero_to_one, levels 1 0
def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == 0:
        matrix.fill_(value)
        dist.isend(matrix, 1).wait()
        matrix.zero_()
    elif rank == 1:
        dist.irecv(matrix, 0).wait()
    return matrix

# %% wrong_zeros_kept: wrong, keeps_something, levels 1 0
ZEROS = torch.zeros(3, 4)


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    if rank == source:
        request = dist.isend(torch.full((3, 4), value), dst=destination)
        request.wait()
    elif rank == destination:
        matrix = torch.empty(3, 4)
        request = dist.irecv(matrix, src=source)
        request.wait()
        return matrix
    return ZEROS
