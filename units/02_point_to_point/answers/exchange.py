# Right and wrong answers to `exchange`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_batch: passed
from torch.distributed import P2POp, batch_isend_irecv, irecv, isend


def exchange(x, partner):
    y = torch.zeros_like(x)
    if partner == dist.get_rank():
        return y + x
    for request in batch_isend_irecv([P2POp(irecv, y, partner), P2POp(isend, x, partner)]):
        request.wait()
    return y

# %% right_irecv_and_send: passed
# differs: The receive is posted first and waited for last, so the send in between may block as long as it likes; with oneself there is nothing to send.
def exchange(x, partner):
    received = torch.empty(x.shape, dtype=x.dtype)
    if partner != dist.get_rank():
        pending = dist.irecv(received, src=partner)
        dist.send(x, dst=partner)
        pending.wait()
    else:
        received.copy_(x)
    return received

# %% right_isend: passed
def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.empty_like(x)
    request = dist.isend(x, partner)
    dist.recv(y, partner)
    request.wait()
    return y

# %% right_smaller_rank_first: passed
# differs: No requests: of two partners the one with the smaller rank sends first, and the order alone prevents the deadlock.
def exchange(x: torch.Tensor, partner: int) -> torch.Tensor:
    rank = dist.get_rank()
    y = x.clone()
    if rank < partner:
        dist.send(x, partner)
        dist.recv(y, partner)
    elif rank > partner:
        dist.recv(y, partner)
        dist.send(x, partner)
    return y

# %% right_speaks_to_itself: passed
def exchange(x, partner):
    y = torch.empty_like(x)
    requests = [dist.isend(x, partner), dist.irecv(y, partner)]
    for request in reversed(requests):
        request.wait()
    return y

# %% right_waits_in_the_other_order: passed
def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.empty_like(x)
    receive, send = dist.irecv(y, partner), dist.isend(x, partner)
    send.wait()
    while not receive.is_completed():
        pass
    return y

# %% wrong_all_gather: wrong, uses_collective, levels 0 0
def exchange(x, partner):
    rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x)
    return rows[partner]

# %% wrong_asks_once (right_isend): wrong, forgot_wait, levels 0 0
-    request.wait()
+    request.is_completed()

# %% wrong_barrier_after (right_isend): wrong, needless_barrier, levels 0 0
     request.wait()
+    dist.barrier()

# %% wrong_copies_before_wait: wrong, used_before_wait, levels 0 0
def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.empty_like(x)
    requests = [dist.irecv(y, partner), dist.isend(x, partner)]
    result = y.clone()
    for request in requests:
        request.wait()
    return result

# %% wrong_even_ranks_first: hung, unsafe_send, levels 1 0
def exchange(x, partner):
    rank = dist.get_rank()
    if partner == rank:
        return x.clone()
    y = torch.empty_like(x)
    if rank % 2 == 0:
        dist.send(x, partner)
        dist.recv(y, partner)
    else:
        dist.recv(y, partner)
        dist.send(x, partner)
    return y

# %% wrong_float64_buffer_for_integers: wrong, lost_digits, levels 1 0
def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    sent, arrived = x.double(), torch.empty(x.shape, dtype=torch.float64)
    request = dist.isend(sent, partner)
    dist.recv(arrived, partner)
    request.wait()
    return arrived.to(x.dtype)

# %% wrong_float_buffer (right_isend): hung, mismatched_dtype, levels 0 0
-    y = torch.empty_like(x)
+    y = torch.zeros(x.shape)

# %% wrong_into_x: wrong, reused_buffer, levels 0 0
def exchange(x, partner):
    if partner == dist.get_rank():
        return x
    request = dist.isend(x, partner)
    dist.recv(x, partner)
    request.wait()
    return x

# %% wrong_neighbour (right_isend): wrong, assumes_neighbour, levels 1 0
-    if partner == dist.get_rank():
+    rank = dist.get_rank()
+    other = rank + 1 if rank % 2 == 0 else rank - 1
+    if other >= dist.get_world_size():
@@
-    request = dist.isend(x, partner)
-    dist.recv(y, partner)
+    request = dist.isend(x, other)
+    dist.recv(y, other)

# %% wrong_no_wait_for_irecv: wrong, forgot_wait, levels 0 0
def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.zeros_like(x)
    dist.irecv(y, partner)
    dist.send(x, partner)
    return y

# %% wrong_no_wait_for_isend (right_isend): wrong, forgot_wait, levels 0 0
-    y = torch.empty_like(x)
-    request = dist.isend(x, partner)
+    y = torch.zeros_like(x)
+    dist.isend(x, partner)
@@
-    request.wait()

# %% wrong_one_tensor_for_both (right_isend): wrong, used_before_wait, levels 0 0
-    request = dist.isend(x, partner)
-    dist.recv(y, partner)
-    request.wait()
+    y.copy_(x)
+    requests = [dist.irecv(y, partner), dist.isend(y, partner)]
+    for request in requests:
+        request.wait()

# %% wrong_one_way (right_smaller_rank_first): hung, returned_early, levels 0 0
-def exchange(x: torch.Tensor, partner: int) -> torch.Tensor:
+def exchange(x, partner):
@@
         dist.send(x, partner)
-        dist.recv(y, partner)

# %% wrong_overwrites_input: wrong, modifies_input, levels 0 0
def exchange(x, partner):
    rank = dist.get_rank()
    if partner != rank:
        copy = x.clone()
        if rank < partner:
            dist.send(copy, partner)
            dist.recv(x, partner)
        else:
            dist.recv(x, partner)
            dist.send(copy, partner)
    return x

# %% wrong_receive_first (right_isend): hung, deadlock, levels 0 0
-    request = dist.isend(x, partner)
@@
-    request.wait()
+    dist.send(x, partner)

# %% wrong_returns_own (right_isend): wrong, keeps_own, levels 0 0
-    return y
+    return x

# %% wrong_scalar_gets_axis: wrong, wrong_shape, levels 0 1
# breaks "with the shape and dtype of x": a 0-dimensional x comes back with shape (1,)
def exchange(x: torch.Tensor, partner: int) -> torch.Tensor:
    mine = torch.atleast_1d(x.detach()).contiguous()
    if partner == dist.get_rank():
        return mine.clone()
    arrived = torch.empty_like(mine)
    requests = [dist.irecv(arrived, src=partner), dist.isend(mine, dst=partner)]
    for request in requests:
        request.wait()
    return arrived

# %% wrong_send_first (right_isend): hung, unsafe_send, levels 0 0
-    request = dist.isend(x, partner)
+    dist.send(x, partner)
@@
-    request.wait()

# %% wrong_sends_to_everybody: wrong, talks_to_others, levels 0 0
def exchange(x, partner):
    rank, p = dist.get_rank(), dist.get_world_size()
    rows = [torch.empty_like(x) for _ in range(p)]
    rows[rank] = x.clone()
    requests = []
    for other in range(p):
        if other != rank:
            requests.append(dist.isend(x, other))
            requests.append(dist.irecv(rows[other], other))
    for request in requests:
        request.wait()
    return rows[partner]

# %% wrong_single_gets_zeros: wrong, nothing_for_the_single, levels 1 0
def exchange(x, partner):
    y = torch.zeros_like(x)
    if partner != dist.get_rank():
        request = dist.isend(x, partner)
        dist.recv(y, partner)
        request.wait()
    return y

# %% wrong_single_sends_to_itself: raised, ValueError, levels 1 0
def exchange(x, partner):
    y = torch.empty_like(x)
    if dist.get_rank() <= partner:
        dist.send(x, partner)
        dist.recv(y, partner)
    else:
        dist.recv(y, partner)
        dist.send(x, partner)
    return y

# %% wrong_smaller_only_sends: wrong, one_way, levels 0 0
def exchange(x, partner):
    rank = dist.get_rank()
    y = x.clone()
    if rank < partner:
        dist.send(x, partner)
    elif rank > partner:
        dist.recv(y, partner)
    return y

# %% wrong_tag_is_own_rank: hung, mismatched_tag, levels 0 0
def exchange(x, partner):
    rank = dist.get_rank()
    if partner == rank:
        return x.clone()
    y = torch.empty_like(x)
    if rank < partner:
        dist.send(x, partner, tag=rank)
        dist.recv(y, partner, tag=rank)
    else:
        dist.recv(y, partner, tag=rank)
        dist.send(x, partner, tag=rank)
    return y

# %% wrong_through_float: wrong, through_float, levels 0 0
def exchange(x, partner):
    me = dist.get_rank()
    if partner == me:
        return x
    out = torch.zeros(x.shape, dtype=torch.float32)
    r = dist.isend(x.float(), partner)
    dist.recv(out, partner)
    r.wait()
    return out.to(x.dtype)

# %% wrong_through_int32: wrong, wrapped, levels 1 0
def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    kind = x.dtype if x.is_floating_point() else torch.int32
    sent = x.to(kind)
    arrived = torch.empty_like(sent)
    request = dist.isend(sent, partner)
    dist.recv(arrived, partner)
    request.wait()
    return arrived.to(x.dtype)

# %% wrong_times_zero_buffer (right_isend): hung, mismatched_dtype, levels 1 0
-        return x.clone()
-    y = torch.empty_like(x)
+        return x + 0
+    y = x * 0
