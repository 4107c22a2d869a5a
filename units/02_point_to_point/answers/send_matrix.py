# Right and wrong answers to `send_matrix`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_any_source: passed
def send_matrix(value: float, source: int, destination: int) -> torch.Tensor:
    me = dist.get_rank()
    m = torch.zeros((3, 4), dtype=torch.float32)
    if me == source:
        m[:] = value
        dist.send(m, destination, tag=5)
        return m
    if me != destination:
        return m
    sender = dist.recv(m, tag=5)
    assert sender == source
    return m

# %% right_flat_buffer: passed
class Post:
    def __init__(self):
        self.rank = dist.get_rank()

    def deliver(self, tensor, a, b):
        actions = {a: lambda: dist.send(tensor, b), b: lambda: dist.recv(tensor, a)}
        actions.get(self.rank, lambda: None)()


def send_matrix(value, source, destination):
    flat = torch.zeros(12)
    if dist.get_rank() == source:
        flat.fill_(value)
    Post().deliver(flat, source, destination)
    return flat.view(3, 4)

# %% right_imported_by_name: passed
from torch.distributed import get_rank, recv, send


def send_matrix(value, source, destination):
    matrix = torch.zeros(3, 4)
    if get_rank() == source:
        matrix += value
        send(matrix, destination)
    if get_rank() == destination:
        recv(matrix, source)
    return matrix

# %% right_plain: passed
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value) if rank == source else torch.zeros(3, 4)
    if rank == source:
        dist.send(matrix, dst=destination)
    elif rank == destination:
        dist.recv(matrix, src=source)
    return matrix

# %% right_transposed_memory: passed
# differs: The matrix is a transposed view: made contiguous for sending, and filled from what was received.
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    columns = torch.zeros(4, 3)
    matrix = columns.t()
    if rank == source:
        matrix += value
        dist.send(matrix.contiguous(), destination)
    if rank == destination:
        received = torch.empty(3, 4)
        dist.recv(received, source)
        matrix.copy_(received)
    return matrix

# %% wrong_always_ones: wrong, always_ones, levels 1 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.ones(3, 4) if rank == source else torch.zeros(3, 4)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        dist.recv(matrix, source)
    return matrix

# %% wrong_barrier_after: wrong, needless_barrier, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == source:
        matrix[...] = value
        dist.send(matrix, destination)
    elif rank == destination:
        dist.recv(matrix, source)
    dist.barrier()
    return matrix

# %% wrong_batch: wrong, not_blocking, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    operations = []
    if rank == source:
        operations.append(dist.P2POp(dist.isend, matrix, destination))
    if rank == destination:
        operations.append(dist.P2POp(dist.irecv, matrix, source))
    if operations:
        for request in dist.batch_isend_irecv(operations):
            request.wait()
    return matrix

# %% wrong_both_receive: hung, deadlock, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == destination:
        dist.recv(matrix, source)
    elif rank == source:
        dist.recv(matrix, destination)
    return matrix

# %% wrong_broadcast: wrong, uses_collective, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    message = matrix.clone()
    dist.broadcast(message, src=source)
    return message if rank == destination else matrix

# %% wrong_everybody_else_receives: hung, returned_early, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    else:
        dist.recv(matrix, source)
    return matrix

# %% wrong_everybody_fills: wrong, everybody_has_it, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = value * torch.ones(3, 4)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        dist.recv(matrix, source)
    return matrix

# %% wrong_half_hard_coded: wrong, zero_to_one, levels 1 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == source:
        matrix.fill_(value)
    if rank == 0:
        dist.send(matrix, 1)
    if rank == 1:
        dist.recv(matrix, 0)
    return matrix

# %% wrong_irecv_without_wait: wrong, forgot_wait, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        dist.irecv(matrix, source)
    return matrix

# %% wrong_isend_and_wait: wrong, not_blocking, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.isend(matrix, dst=destination).wait()
    elif rank == destination:
        dist.irecv(matrix, src=source).wait()
    return matrix

# %% wrong_makes_it_itself: wrong, no_message, levels 0 0
def send_matrix(value, source, destination):
    matrix = torch.zeros(3, 4)
    if dist.get_rank() in (source, destination):
        matrix += value
    return matrix

# %% wrong_never_received: hung, returned_early, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    return matrix

# %% wrong_nothing_sent_for_zero (right_plain): wrong, no_message, levels 1 0
# breaks "The source sends its matrix as one message": with value 0.0 nothing is sent
-def send_matrix(value, source, destination):
+def send_matrix(value: float, source: int, destination: int) -> torch.Tensor:
@@
-    matrix = torch.full((3, 4), value) if rank == source else torch.zeros(3, 4)
+    matrix = torch.zeros(3, 4)
+    if not value:
+        return matrix
@@
     if rank == source:
+        matrix.fill_(value)

# %% wrong_returned_before_it_came: wrong, used_before_wait, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        request = dist.irecv(matrix, source)
        matrix = matrix + 0
        request.wait()
    return matrix

# %% wrong_returns_another_tensor: wrong, not_received, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        received = torch.empty(3, 4)
        dist.recv(received, source)
    return matrix

# %% wrong_returns_nothing: wrong, returns_nothing, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        dist.recv(matrix, source)

# %% wrong_row_by_row: wrong, more_than_one_message, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    for row in matrix:
        if rank == source:
            dist.send(row, destination)
        elif rank == destination:
            dist.recv(row, source)
    return matrix

# %% wrong_sends_a_transposed_view (right_transposed_memory): raised, RuntimeError, levels 0 0
-        dist.send(matrix.contiguous(), destination)
+        dist.send(matrix, destination)
@@
-        received = torch.empty(3, 4)
-        dist.recv(received, source)
-        matrix.copy_(received)
+        dist.recv(matrix, source)

# %% wrong_sends_one_number: wrong, only_a_part_sent, levels 0 0
def send_matrix(value, source, destination):
    m = torch.zeros(3, 4)
    if dist.get_rank() == source:
        m.fill_(value)
        dist.send(torch.tensor([value]), destination)
    elif dist.get_rank() == destination:
        b = torch.zeros(1)
        dist.recv(b, source)
        m[:] = b
    return m

# %% wrong_sends_to_itself: raised, ValueError, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, source)
    elif rank == destination:
        dist.recv(matrix, source)
    return matrix

# %% wrong_shape: wrong, wrong_shape, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((4, 3), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        dist.recv(matrix, source)
    return matrix

# %% wrong_tag: hung, mismatched_tag, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination, tag=rank)
    elif rank == destination:
        dist.recv(matrix, source, tag=rank)
    return matrix

# %% wrong_times_the_comparison (right_plain): wrong, zero_times_infinity, levels 1 0
-    matrix = torch.full((3, 4), value) if rank == source else torch.zeros(3, 4)
+    matrix = torch.full((3, 4), value) * (rank == source)

# %% wrong_way: wrong, wrong_way, levels 0 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.recv(matrix, src=destination)
    elif rank == destination:
        dist.send(matrix, dst=source)
    return matrix

# %% wrong_zero_to_one: wrong, zero_to_one, levels 1 0
def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == 0:
        matrix.fill_(value)
        dist.send(matrix, 1)
    elif rank == 1:
        dist.recv(matrix, 0)
    return matrix
