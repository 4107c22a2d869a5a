# Right and wrong answers to `server_all_reduce`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_any_source: passed
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    if dist.get_rank() > 0:
        result = torch.zeros_like(x)
        dist.send(x, 0)
        dist.recv(result, 0)
        return result
    box, result = torch.zeros_like(x), x + 0
    for _ in range(dist.get_world_size() - 1):
        dist.recv(box)  # whoever comes first
        result = result + box
    for other in range(1, dist.get_world_size()):
        dist.send(result, other)
    return result

# %% right_batched: passed
def worker(x):
    result = torch.empty_like(x)
    operations = [dist.P2POp(dist.isend, x, 0), dist.P2POp(dist.irecv, result, 0)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return result


def server(x):
    boxes = [torch.empty_like(x) for _ in range(dist.get_world_size() - 1)]
    for sender, box in enumerate(boxes, start=1):
        dist.recv(box, src=sender, tag=0)
    result = sum(boxes, start=x.clone())
    for receiver in range(1, dist.get_world_size()):
        dist.send(result, dst=receiver)
    return result


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    return server(x) if dist.get_rank() == 0 else worker(x)

# %% right_irecv: passed
# differs: Rank 0 posts all receives at once and takes the messages as they come, in place of one rank after the other.
def server_all_reduce(x):
    p = dist.get_world_size()
    others = list(range(1, p))
    if dist.get_rank() == 0:
        inbox = [torch.empty_like(x) for _ in others]
        requests = [dist.irecv(box, src=r) for r, box in zip(others, inbox)]
        [request.wait() for request in requests]
        out = torch.stack([x, *inbox]).sum(0).to(x.dtype)
        requests = [dist.isend(out, dst=r) for r in others]
        [request.wait() for request in requests]
        return out
    out = torch.empty_like(x)
    request = dist.irecv(out, src=0)
    dist.isend(x, dst=0).wait()
    request.wait()
    return out

# %% right_recv: passed
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    if rank == 0:
        arrived = torch.empty_like(x)
        for other in range(1, p):
            dist.recv(arrived, src=other)
            total += arrived
        for other in range(1, p):
            dist.send(total, dst=other)
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total

# %% right_waits_in_the_other_order: passed
def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    if rank == 0:
        boxes = {other: torch.empty_like(x) for other in range(1, p)}
        requests = {other: dist.irecv(box, src=other) for other, box in boxes.items()}
        for other in reversed(range(1, p)):
            requests[other].wait()
            total += boxes[other]
        answers = [dist.isend(total, dst=other) for other in range(1, p)]
        while not all(answer.is_completed() for answer in answers):
            pass
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total

# %% wrong_adds_at_once (right_recv): wrong, used_before_wait, levels 0 0
-def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
+def server_all_reduce(x):
@@
-        arrived = torch.empty_like(x)
@@
-            dist.recv(arrived, src=other)
-            total += arrived
+            box = torch.empty_like(x)
+            request = dist.irecv(box, src=other)
+            total += box
+            request.wait()

# %% wrong_adds_in_float32: wrong, lost_digits, levels 0 0
def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    if rank:
        dist.send(x, 0)
        dist.recv(arrived, 0)
        return arrived
    total = x.float()
    for worker in range(1, p):
        dist.recv(arrived, worker)
        total = total + arrived.float()
    total = total.to(x.dtype)
    for worker in range(1, p):
        dist.send(total, worker)
    return total

# %% wrong_adds_the_answer: wrong, counted_twice, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    arrived = torch.empty_like(x)
    if dist.get_rank() == 0:
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            total += arrived
        for other in range(1, dist.get_world_size()):
            dist.send(total, dst=other)
    else:
        dist.send(x, dst=0)
        dist.recv(arrived, src=0)
        total += arrived
    return total

# %% wrong_answers_at_once (right_recv): wrong, answers_too_early, levels 0 0
-    rank, p = dist.get_rank(), dist.get_world_size()
@@
-    if rank == 0:
+    if dist.get_rank() == 0:
@@
         arrived = torch.empty_like(x)
-        for other in range(1, p):
+        for other in range(1, dist.get_world_size()):
@@
             total += arrived
-        for other in range(1, p):

# %% wrong_asks_once (right_recv): wrong, forgot_wait, levels 0 0
-def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
+def server_all_reduce(x):
@@
-            dist.send(total, dst=other)
+            dist.isend(total, dst=other).is_completed()

# %% wrong_computes_in_double: wrong, wrong_dtype, levels 1 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.to(torch.float64, copy=True)
    if dist.get_rank() == 0:
        arrived = torch.empty_like(total)
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            total += arrived
        for other in range(1, dist.get_world_size()):
            dist.send(total, dst=other)
    else:
        dist.send(total.clone(), dst=0)
        dist.recv(total, src=0)
    return total

# %% wrong_element_by_element: wrong, too_many_messages, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    flat = total.view(-1)
    number = torch.empty((), dtype=x.dtype)
    for i in range(flat.numel()):
        if rank == 0:
            for other in range(1, p):
                dist.recv(number, src=other)
                flat[i] += number
            for other in range(1, p):
                dist.send(flat[i], dst=other)
        else:
            dist.send(flat[i], dst=0)
            dist.recv(number, src=0)
            flat[i] = number
    return total

# %% wrong_everybody_sends_first: hung, unsafe_send, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total, arrived = x.clone(), torch.empty_like(x)
    if dist.get_rank() == 0:
        for other in range(1, dist.get_world_size()):
            dist.send(total, dst=other)
            dist.recv(arrived, src=other)
            total += arrived
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total

# %% wrong_everybody_to_everybody: wrong, not_through_rank_0, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    works = [dist.isend(x, dst=other) for other in range(p) if other != rank]
    arrived = torch.empty_like(x)
    for other in range(p):
        if other != rank:
            dist.recv(arrived, src=other)
            total += arrived
    for work in works:
        work.wait()
    return total

# %% wrong_float_buffer (right_recv): hung, mismatched_dtype, levels 0 0
-    rank, p = dist.get_rank(), dist.get_world_size()
@@
-    if rank == 0:
-        arrived = torch.empty_like(x)
-        for other in range(1, p):
+    if dist.get_rank() == 0:
+        arrived = torch.empty(x.shape)
+        for other in range(1, dist.get_world_size()):
@@
             total += arrived
-        for other in range(1, p):
+        for other in range(1, dist.get_world_size()):

# %% wrong_in_pieces: wrong, too_many_messages, levels 1 0
# "one message": more than 65,536 elements go in pieces
PIECE = 65536


def server_all_reduce(x):
    total, box = x.clone(), torch.empty_like(x)
    others = range(1, dist.get_world_size())

    def pieces(tensor):
        return tensor.view(-1).split(PIECE) if tensor.numel() > PIECE else (tensor,)

    if dist.get_rank() != 0:
        for piece in pieces(x):
            dist.send(piece, dst=0)
        for piece in pieces(total):
            dist.recv(piece, src=0)
        return total
    for other in others:
        for piece in pieces(box):
            dist.recv(piece, src=other)
        total += box
    for other in others:
        for piece in pieces(total):
            dist.send(piece, dst=other)
    return total

# %% wrong_in_place: wrong, modifies_input, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    if dist.get_rank() == 0:
        arrived = torch.empty_like(x)
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            x += arrived
        for other in range(1, dist.get_world_size()):
            dist.send(x, dst=other)
    else:
        dist.send(x, dst=0)
        dist.recv(x, src=0)
    return x

# %% wrong_irecv_never_waited (right_recv): wrong, forgot_wait, levels 0 0
-def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
+def server_all_reduce(x):
@@
-        dist.recv(total, src=0)
+        dist.irecv(total, src=0)

# %% wrong_isend_never_waited (right_recv): wrong, forgot_wait, levels 0 0
-def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
+def server_all_reduce(x):
@@
-            dist.send(total, dst=other)
+            dist.isend(total, dst=other)

# %% wrong_itself_on_one_rank (right_recv): wrong, not_new, levels 0 1
-def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
+def server_all_reduce(x):
@@
-    total = x.clone()
+    total = x
@@
-            total += arrived
+            total = total + arrived
@@
         dist.send(x, dst=0)
+        total = torch.empty_like(x)

# %% wrong_keeps_the_last_message_only: wrong, ranks_missing, levels 0 0
def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total = torch.empty_like(x)
    if rank == 0:
        message = torch.empty_like(x)
        for source in range(1, p):
            dist.recv(message, src=source)
            total = x + message  # not `total + message`
        for destination in range(1, p):
            dist.send(total, dst=destination)
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total

# %% wrong_mean: wrong, averaged, levels 0 0
def server_all_reduce(x):
    r, p = dist.get_rank(), dist.get_world_size()
    t = x.clone()
    b = torch.empty_like(x)
    if r == 0:
        for k in range(1, p):
            dist.recv(b, k)
            t += b
        t = t / p
        for k in range(1, p):
            dist.send(t, k)
    else:
        dist.send(x, 0)
        dist.recv(t, 0)
    return t

# %% wrong_never_answers: wrong, only_one_rank, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    if dist.get_rank() == 0:
        arrived = torch.empty_like(x)
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            total += arrived
    else:
        dist.send(x, dst=0)
    return total

# %% wrong_one_box_for_all (right_recv): wrong, used_before_wait, levels 0 0
-def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
+def server_all_reduce(x):
@@
-        arrived = torch.empty_like(x)
-        for other in range(1, p):
-            dist.recv(arrived, src=other)
-            total += arrived
+        box = torch.empty_like(x)
+        requests = [dist.irecv(box, src=other) for other in range(1, p)]
+        for request in requests:
+            request.wait()
+            total += box

# %% wrong_scalar_gets_axis: wrong, wrong_shape, levels 1 0
# a 0-dimensional x comes back with shape (1,)
import math


def server_all_reduce(x):
    total = torch.atleast_1d(x).clone()
    arrived = torch.empty_like(total)
    if dist.get_rank() != 0:
        dist.send(total, dst=0)
        dist.recv(total, src=0)
        return total
    for worker in range(1, dist.get_world_size()):
        dist.recv(arrived, src=worker)
        total += arrived
    for worker in range(1, dist.get_world_size()):
        dist.send(total, dst=worker)
    return total

# %% wrong_stack_promotes_int32: wrong, wrong_dtype, levels 1 0
def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    if rank:
        dist.send(x, 0)
        total = torch.empty_like(x)
        dist.recv(total, 0)
        return total
    rows = [x] + [torch.empty_like(x) for _ in range(1, p)]
    for worker in range(1, p):
        dist.recv(rows[worker], worker)
    total = torch.stack(rows).sum(0)
    for worker in range(1, p):
        dist.send(total.to(x.dtype), worker)
    return total

# %% wrong_starts_from_zeros: wrong, rank_0_left_out, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros_like(x)
    if dist.get_rank() == 0:
        arrived = torch.empty_like(x)
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            total += arrived
        for other in range(1, dist.get_world_size()):
            dist.send(total, dst=other)
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total

# %% wrong_two_ranks_only: hung, returned_early, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    if dist.get_rank() == 0:
        arrived = torch.empty_like(x)
        dist.recv(arrived, src=1)
        total += arrived
        dist.send(total, dst=1)
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total

# %% wrong_uses_all_reduce: wrong, uses_all_reduce, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total

# %% wrong_uses_reduce_and_broadcast: wrong, uses_collective, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.reduce(total, dst=0)
    dist.broadcast(total, src=0)
    return total

# %% wrong_worker_adds_its_own: wrong, ranks_differ, levels 0 1
def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    if rank:
        dist.send(x, 0)
        others = torch.empty_like(x)
        dist.recv(others, 0)
        return others + x
    rows = [x] + [torch.empty_like(x) for _ in range(1, p)]
    for worker in range(1, p):
        dist.recv(rows[worker], worker)
    for worker in range(1, p):
        others = torch.zeros_like(x)
        for r in range(p):
            if r != worker:
                others += rows[r]
        dist.send(others, worker)
    total = torch.zeros_like(x)
    for row in rows:
        total += row
    return total

# %% wrong_worker_receives_into_what_it_sends (right_recv): wrong, reused_buffer, levels 0 0
-def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
+def server_all_reduce(x):
@@
-        dist.send(x, dst=0)
+        send = dist.isend(total, dst=0)
@@
         dist.recv(total, src=0)
+        send.wait()

# %% wrong_workers_receive_first: hung, deadlock, levels 0 0
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    if dist.get_rank() == 0:
        arrived = torch.empty_like(x)
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            total += arrived
        for other in range(1, dist.get_world_size()):
            dist.send(total, dst=other)
    else:
        dist.recv(total, src=0)
        dist.send(x, dst=0)
    return total
