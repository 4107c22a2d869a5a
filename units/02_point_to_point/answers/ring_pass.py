# Right and wrong answers to `ring_pass`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_batch_and_roll: passed
def shift(tensor):
    rank, p = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(tensor)
    pair = [
        dist.P2POp(dist.isend, tensor, (rank + 1) % p),
        dist.P2POp(dist.irecv, arrived, (rank - 1) % p),
    ]
    [request.wait() for request in dist.batch_isend_irecv(pair)]
    return arrived


def ring_pass(x):
    seen = [x]
    while len(seen) < dist.get_world_size():
        seen.append(shift(seen[-1]))
    # seen[s] started s ranks to the left
    return torch.stack(seen[::-1]).roll(dist.get_rank() + 1, dims=0)

# %% right_columns: passed
# differs: Rows are kept as columns of the transposed table; what is sent must then be made contiguous first, and what arrives needs room of its own.
def ring_pass(x):
    # one column per rank, turned at the end; with n = 1 a column is a single element with a large stride
    rank, p = dist.get_rank(), dist.get_world_size()
    columns = torch.zeros(x.numel(), p, dtype=x.dtype)
    columns[:, rank] = x
    for step in range(p - 1):
        request = dist.isend(columns[:, (rank - step) % p].contiguous(), (rank + 1) % p)
        room = torch.empty_like(x)
        dist.irecv(room, (rank - 1) % p).wait()
        columns[:, (rank - step - 1) % p] = room
        request.wait()
    return columns.T

# %% right_even_odd: passed
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    result = x.repeat(p, 1)
    current = x
    for source in range(rank - 1, rank - p, -1):
        incoming = torch.zeros_like(x)
        if rank % 2 == 0:
            dist.send(current, (rank + 1) % p)
            dist.recv(incoming, (rank - 1) % p)
        else:
            dist.recv(incoming, (rank - 1) % p)
            dist.send(current, (rank + 1) % p)
        current = incoming
        result[source % p] = current
    return result

# %% right_first_rank_breaks_the_circle: passed
def ring_pass(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    left, right = (rank + p - 1) % p, (rank + 1) % p
    rows = {rank: x.clone()}
    passing = x.clone()
    for step in range(p - 1):
        arriving = torch.empty_like(x)
        if rank == 0:
            dist.send(passing, right)
            dist.recv(arriving, left)
        else:
            dist.recv(arriving, left)
            dist.send(passing, right)
        passing = arriving
        rows[(rank - step - 1) % p] = arriving
    return torch.stack([rows[r] for r in range(p)])

# %% right_isend: passed
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    for step in range(1, p):
        out = table[(rank - step + 1) % p]
        request = dist.isend(out, (rank + 1) % p)
        dist.recv(table[(rank - step) % p], (rank - 1) % p)
        request.wait()
    return table

# %% right_number_beside_the_row: passed
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
    for step in range(1, p):
        arriving = torch.empty_like(moving)
        request = dist.isend(moving, (rank + 1) % p)
        dist.recv(arriving, (rank - 1) % p)
        request.wait()
        moving = arriving
        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
    return table

# %% right_polls: passed
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    for step in range(1, p):
        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
        while not all(request.is_completed() for request in requests):
            pass
    return table

# %% right_receives_posted_first: passed
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    rows = [torch.empty_like(x) for _ in range(p)]
    rows[rank] = x.clone()
    receives = [dist.irecv(rows[(rank - s) % p], (rank - 1) % p) for s in range(1, p)]
    for s in range(p - 1):
        if s > 0:
            receives[s - 1].wait()
        dist.isend(rows[(rank - s) % p], (rank + 1) % p).wait()
    if receives:
        receives[-1].wait()
    return torch.vstack(rows)

# %% wrong_all_gather: wrong, uses_collective, levels 0 0
def ring_pass(x):
    rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x)
    return torch.stack(rows)

# %% wrong_always_sends_own (right_number_beside_the_row): wrong, always_sends_own, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
+        arriving = torch.empty_like(x)
@@
-        moving = arriving
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step) % p] = arriving

# %% wrong_arrival_order (right_number_beside_the_row): wrong, arrival_order, levels 0 0
-    table[rank] = x
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    table[0] = x
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
+        arriving = torch.empty_like(x)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[step] = arriving

# %% wrong_barrier_after (right_even_odd): wrong, needless_barrier, levels 0 0
         result[source % p] = current
+    dist.barrier()

# %% wrong_chain (right_polls): wrong, open_ring, levels 0 0
-        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
-        while not all(request.is_completed() for request in requests):
-            pass
+        request = dist.isend(table[(rank - step + 1) % p], rank + 1) if rank < p - 1 else None
+        if rank > 0:
+            dist.recv(table[(rank - step) % p], rank - 1)
+        if request is not None:
+            request.wait()

# %% wrong_collects_and_goes_round_again: wrong, number_of_sends, levels 0 0
def ring_pass(x):
    """The table fills up on its way to the last rank, and then goes round once more."""
    rank, p = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % p, (rank + 1) % p
    table = torch.zeros(p, len(x), dtype=x.dtype)
    if rank > 0:
        dist.recv(table, src=left)
    table[rank] = x
    dist.send(table, dst=right) if rank < p - 1 else None
    if rank < p - 1:
        dist.recv(table, src=left)
    if rank != p - 2:
        dist.send(table, dst=right)
    return table

# %% wrong_counts_from_zero (right_number_beside_the_row): wrong, off_by_one, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
-    for step in range(1, p):
-        arriving = torch.empty_like(moving)
+    moving = x.clone()
+    for step in range(p - 1):
+        arriving = torch.empty_like(x)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step) % p] = arriving

# %% wrong_element_by_element (right_polls): wrong, number_of_sends, levels 0 0
-        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
-        while not all(request.is_completed() for request in requests):
-            pass
+        out, came = (rank - step + 1) % p, (rank - step) % p
+        for k in range(len(x)):
+            request = dist.isend(table[out, k : k + 1].clone(), dst=(rank + 1) % p)
+            box = torch.empty(1, dtype=x.dtype)
+            dist.recv(box, src=(rank - 1) % p)
+            request.wait()
+            table[came, k] = box[0]

# %% wrong_files_before_wait (right_polls): wrong, used_before_wait, levels 0 0
     table[rank] = x
+    moving = x.clone()
@@
-        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
-        while not all(request.is_completed() for request in requests):
-            pass
+        arriving = torch.empty_like(x)
+        requests = [dist.irecv(arriving, (rank - 1) % p), dist.isend(moving, (rank + 1) % p)]
+        table[(rank - step) % p] = arriving
+        for request in requests:
+            request.wait()
+        moving = arriving

# %% wrong_float_buffer (right_number_beside_the_row): hung, mismatched_dtype, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
+        arriving = torch.empty(len(x))
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step) % p] = arriving

# %% wrong_full_circle (right_number_beside_the_row): wrong, full_circle, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
-    for step in range(1, p):
-        arriving = torch.empty_like(moving)
+    moving = x.clone()
+    for step in range(1, p + 1):
+        arriving = torch.empty_like(x)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step) % p] = arriving

# %% wrong_no_wait (right_polls): wrong, forgot_wait, levels 0 0
     table[rank] = x
+    moving = x.clone()
@@
-        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
-        while not all(request.is_completed() for request in requests):
-            pass
+        arriving = torch.empty_like(x)
+        dist.isend(moving, (rank + 1) % p)
+        dist.recv(arriving, (rank - 1) % p)
+        moving = arriving
+        table[(rank - step) % p] = arriving

# %% wrong_not_modulo (right_number_beside_the_row): raised, ValueError, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
-        request = dist.isend(moving, (rank + 1) % p)
-        dist.recv(arriving, (rank - 1) % p)
+        arriving = torch.empty_like(x)
+        request = dist.isend(moving, rank + 1)
+        dist.recv(arriving, rank - 1)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step) % p] = arriving

# %% wrong_not_written: missing, not_written, levels 0 0
def ring_pass(x: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError()

# %% wrong_nothing_for_empty_rows: wrong, wrong_shape, levels 1 0
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    rows = [torch.empty_like(x) for _ in range(p)]
    rows[rank] = x.clone()
    if x.numel() == 0:
        return torch.empty(0, 0, dtype=x.dtype)
    for step in range(1, p):
        request = dist.isend(rows[(rank - step + 1) % p], (rank + 1) % p)
        dist.recv(rows[(rank - step) % p], (rank - 1) % p)
        request.wait()
    return torch.stack(rows)

# %% wrong_number_in_the_type_of_the_row (right_number_beside_the_row): wrong, unrecognised, levels 1 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = torch.cat([torch.tensor([rank], dtype=x.dtype), x])
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[int(moving[0])] = moving[1:]

# %% wrong_one_buffer (right_polls): wrong, reused_buffer, levels 0 0
     table[rank] = x
+    moving = x.clone()
@@
-        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
-        while not all(request.is_completed() for request in requests):
-            pass
+        request = dist.isend(moving, (rank + 1) % p)
+        dist.recv(moving, (rank - 1) % p)
+        request.wait()
+        table[(rank - step) % p] = moving

# %% wrong_one_buffer_for_all_receives (right_polls): wrong, used_before_wait, levels 0 0
     table[rank] = x
+    moving, arriving = x.clone(), torch.empty_like(x)
+    requests = [dist.irecv(arriving, (rank - 1) % p) for _ in range(p - 1)]
@@
-        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
-        while not all(request.is_completed() for request in requests):
-            pass
+        send = dist.isend(moving, (rank + 1) % p)
+        requests[step - 1].wait()
+        send.wait()
+        moving = arriving.clone()
+        table[(rank - step) % p] = moving

# %% wrong_one_step: wrong, only_neighbour, levels 0 0
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % p, (rank + 1) % p
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    request = dist.isend(x, right)
    dist.recv(table[left], left)
    request.wait()
    return table

# %% wrong_one_step_short (right_number_beside_the_row): wrong, one_step_short, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
-    for step in range(1, p):
-        arriving = torch.empty_like(moving)
+    moving = x.clone()
+    for step in range(1, p - 1):
+        arriving = torch.empty_like(x)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step) % p] = arriving

# %% wrong_one_tensor_in_the_whole_list: wrong, one_buffer, levels 0 0
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    rows = [None] * p
    rows[rank] = x
    passing, arrived = x.clone(), torch.empty_like(x)
    for step in range(1, p):
        request = dist.isend(passing, (rank + 1) % p)
        dist.recv(arrived, (rank - 1) % p)
        request.wait()
        passing.copy_(arrived)
        rows[(rank - step) % p] = arrived
    return torch.stack(rows)

# %% wrong_own_row_missing (right_number_beside_the_row): wrong, own_row_missing, levels 0 0
-    table[rank] = x
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
+        arriving = torch.empty_like(x)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step) % p] = arriving

# %% wrong_passes_on_before_wait (right_isend): wrong, used_before_wait, levels 0 0
     table[rank] = x
+    requests = []
@@
-        out = table[(rank - step + 1) % p]
-        request = dist.isend(out, (rank + 1) % p)
-        dist.recv(table[(rank - step) % p], (rank - 1) % p)
+        requests.append(dist.irecv(table[(rank - step) % p], (rank - 1) % p))
+        requests.append(dist.isend(table[(rank - step + 1) % p], (rank + 1) % p))
+    for request in requests:

# %% wrong_receive_first (right_polls): hung, deadlock, levels 0 0
     table[rank] = x
+    moving = x.clone()
@@
-        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
-        while not all(request.is_completed() for request in requests):
-            pass
+        arriving = torch.empty_like(x)
+        dist.recv(arriving, (rank - 1) % p)
+        dist.send(moving, (rank + 1) % p)
+        moving = arriving
+        table[(rank - step) % p] = arriving

# %% wrong_receives_into_columns (right_columns): raised, RuntimeError, levels 0 0
-    # one column per rank, turned at the end; with n = 1 a column is a single element with a large stride
@@
-        room = torch.empty_like(x)
-        dist.irecv(room, (rank - 1) % p).wait()
-        columns[:, (rank - step - 1) % p] = room
+        dist.irecv(columns[:, (rank - step - 1) % p], (rank - 1) % p).wait()

# %% wrong_reversed_arrival: wrong, rows_mixed_up, levels 0 0
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    seen = [x]
    for _ in range(p - 1):
        arriving = torch.empty_like(x)
        request = dist.isend(seen[0], (rank + 1) % p)
        dist.recv(arriving, (rank - 1) % p)
        request.wait()
        seen.insert(0, arriving)
    return torch.stack(seen)

# %% wrong_row_off_by_one (right_number_beside_the_row): wrong, off_by_one, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
+        arriving = torch.empty_like(x)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step + 1) % p] = arriving

# %% wrong_row_one_too_far (right_number_beside_the_row): wrong, one_row_too_far, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
+        arriving = torch.empty_like(x)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step - 1) % p] = arriving

# %% wrong_rows_of_the_other_direction (right_number_beside_the_row): wrong, other_direction, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
+        arriving = torch.empty_like(x)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank + step) % p] = arriving

# %% wrong_send_first (right_polls): hung, unsafe_send, levels 0 0
     table[rank] = x
+    moving = x.clone()
@@
-        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
-        while not all(request.is_completed() for request in requests):
-            pass
+        arriving = torch.empty_like(x)
+        dist.send(moving, (rank + 1) % p)
+        dist.recv(arriving, (rank - 1) % p)
+        moving = arriving
+        table[(rank - step) % p] = arriving

# %% wrong_sends_left (right_number_beside_the_row): wrong, other_direction, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
-        request = dist.isend(moving, (rank + 1) % p)
-        dist.recv(arriving, (rank - 1) % p)
+        arriving = torch.empty_like(x)
+        request = dist.isend(moving, (rank - 1) % p)
+        dist.recv(arriving, (rank + 1) % p)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step) % p] = arriving

# %% wrong_sends_left_files_right (right_number_beside_the_row): wrong, wrong_neighbour, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
-        request = dist.isend(moving, (rank + 1) % p)
-        dist.recv(arriving, (rank - 1) % p)
+        arriving = torch.empty_like(x)
+        request = dist.isend(moving, (rank - 1) % p)
+        dist.recv(arriving, (rank + 1) % p)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank + step) % p] = arriving

# %% wrong_sends_no_empty_rows: wrong, number_of_sends, levels 1 0
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1 or not x.numel():
        return x.repeat(p, 1)
    rows = [torch.empty_like(x) for _ in range(p)]
    rows[rank] = x.clone()
    for step in range(1, p):
        request = dist.isend(rows[(rank - step + 1) % p], (rank + 1) % p)
        dist.recv(rows[(rank - step) % p], (rank - 1) % p)
        request.wait()
    return torch.stack(rows)

# %% wrong_sends_the_whole_table: wrong, whole_table, levels 0 0
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = x.new_zeros(p, len(x))
    table[rank] = x
    for step in range(1, p):
        request = dist.isend(table, (rank + 1) % p)
        arrived = torch.empty_like(table)
        dist.recv(arrived, (rank - 1) % p)
        request.wait()
        table[(rank - step) % p] = arrived[(rank - step) % p]
    return table

# %% wrong_table_of_floats (right_isend): wrong, wrong_dtype, levels 0 0
-    table = torch.zeros(p, len(x), dtype=x.dtype)
+    table = torch.zeros(p, len(x))
@@
-        out = table[(rank - step + 1) % p]
-        request = dist.isend(out, (rank + 1) % p)
+        request = dist.isend(table[(rank - step + 1) % p].clone(), (rank + 1) % p)

# %% wrong_tag_is_own_rank (right_number_beside_the_row): hung, mismatched_tag, levels 0 0
-    moving = torch.cat([torch.tensor([rank], dtype=torch.uint8), table[rank].view(torch.uint8)])
+    moving = x.clone()
@@
-        arriving = torch.empty_like(moving)
-        request = dist.isend(moving, (rank + 1) % p)
-        dist.recv(arriving, (rank - 1) % p)
+        arriving = torch.empty_like(x)
+        request = dist.isend(moving, (rank + 1) % p, tag=rank)
+        dist.recv(arriving, (rank - 1) % p, tag=rank)
@@
-        table[int(moving[0])] = moving[1:].clone().view(x.dtype)
+        table[(rank - step) % p] = arriving

# %% wrong_through_float32_and_back: wrong, lost_digits, levels 0 0
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x))
    table[rank] = x
    for step in range(1, p):
        request = dist.isend(table[(rank - step + 1) % p].clone(), (rank + 1) % p)
        dist.recv(table[(rank - step) % p], (rank - 1) % p)
        request.wait()
    return table.to(x.dtype)

# %% wrong_times_zero_buffer: hung, mismatched_dtype, levels 1 0
def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    rows = [x * 0 for _ in range(p)]
    rows[rank] = x
    for step in range(1, p):
        request = dist.isend(rows[(rank - step + 1) % p], (rank + 1) % p)
        dist.recv(rows[(rank - step) % p], (rank - 1) % p)
        request.wait()
    return torch.stack(rows)

# %% wrong_two_ranks_only: hung, returned_early, levels 0 0
def ring_pass(x):
    rank = dist.get_rank()
    other = 1 - rank if rank < 2 else 0
    table = torch.zeros(2, len(x), dtype=x.dtype)
    table[rank % 2] = x
    request = dist.isend(x, other)
    dist.recv(table[1 - rank % 2], other)
    request.wait()
    return table
