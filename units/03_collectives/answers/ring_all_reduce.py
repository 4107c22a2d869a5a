# Right and wrong answers to `ring_all_reduce`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_batched: passed
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    r, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        return x.clone()
    chunks = list(torch.tensor_split(x.clone(), p))

    def step(out, into):
        ops = [dist.P2POp(dist.isend, chunks[out], (r + 1) % p), dist.P2POp(dist.irecv, into, (r - 1) % p)]
        [w.wait() for w in dist.batch_isend_irecv(ops)]

    i = r
    for _ in range(p - 1):
        j = (i - 1) % p
        buffer = torch.zeros_like(chunks[j])
        step(i, buffer)
        chunks[j] = chunks[j] + buffer
        i = j
    for _ in range(p - 1):
        j = (i - 1) % p
        step(i, chunks[j])
        i = j
    return torch.cat(chunks)

# %% right_both_ways: passed
# differs: Both directions of the ring are used at once, so that a chunk has half as far to go.
def ring_all_reduce(x):
    """Every chunk is summed up at home, where both halves of the ring send to, and spread from there both ways."""
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    far, near = p // 2, (p - 1) // 2  # so many hops to the right, and to the left
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]

    def swap(moves):
        requests, arrived = [], []
        for to, source, out, into in moves:
            got = torch.empty_like(chunks[into % p])
            arrived.append((into % p, got))
            requests += [dist.irecv(got, source), dist.isend(chunks[out % p], to)]
        for request in requests:
            request.wait()
        return arrived

    for k in range(far):
        moves = [(right, left, rank + far - k, rank + far - k - 1)]
        if k < near:
            moves.append((left, right, rank - near + k, rank - near + k + 1))
        for i, got in swap(moves):
            chunks[i] += got
    for k in range(far):
        moves = [(right, left, rank - k, rank - k - 1)]
        if k < near:
            moves.append((left, right, rank + k, rank + k + 1))
        for i, got in swap(moves):
            chunks[i] = got
    return torch.cat(chunks)

# %% right_irecv_and_send: passed
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for step in range(2 * (p - 1)):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        work = dist.irecv(arrived, left)
        dist.send(chunks[outgoing], right)
        work.wait()
        chunks[incoming] = chunks[incoming] + arrived if step < p - 1 else arrived
    return torch.cat(chunks)

# %% right_last_chunk_takes_the_rest_of_padding_only: passed
class Ring:
    def __init__(self):
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def pass_on(self, tensor):
        arrived = torch.empty_like(tensor)
        request = dist.irecv(arrived, src=(self.rank - 1) % self.size)
        dist.send(tensor, dst=(self.rank + 1) % self.size)
        request.wait()
        return arrived


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    ring = Ring()
    p = ring.size
    fill = (p - x.numel() % p) % p
    parts = torch.cat((x, x.new_zeros(fill))).reshape(p, -1)
    moving = parts[ring.rank]
    for step in range(1, p):
        moving = ring.pass_on(moving) + parts[(ring.rank - step) % p]
    result = torch.empty_like(parts)
    result[(ring.rank + 1) % p] = moving
    for step in range(p - 1):
        moving = ring.pass_on(moving)
        result[(ring.rank - step) % p] = moving
    return result.flatten()[: x.numel()]

# %% right_padded: passed
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p, n = dist.get_rank(), dist.get_world_size(), len(x)
    size = (n + p - 1) // p
    work = torch.zeros(size * p, dtype=x.dtype)
    work[:n] = x
    blocks = work.view(p, size)
    box = torch.empty(size, dtype=x.dtype)
    for step in range(2 * (p - 1)):
        send_block = blocks[(rank - step) % p]
        recv_block = blocks[(rank - step - 1) % p]
        requests = [dist.isend(send_block, (rank + 1) % p), dist.irecv(box, (rank - 1) % p)]
        for request in requests:
            request.wait()
        if step < p - 1:
            recv_block += box
        else:
            recv_block.copy_(box)
    return work[:n]

# %% right_polls: passed
def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for step in range(p - 1):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        works = [dist.irecv(arrived, left), dist.isend(chunks[outgoing], right)]
        while works:
            works = [work for work in works if not work.is_completed()]
        chunks[incoming] += arrived
    for step in range(p - 1):
        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
        work = dist.isend(chunks[outgoing], right)
        dist.recv(chunks[incoming], left)
        work.wait()
    return torch.cat(chunks)

# %% right_receives_of_the_second_half_open: passed
def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for step in range(p - 1):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        work = dist.isend(chunks[outgoing], right)
        dist.recv(arrived, left)
        work.wait()
        chunks[incoming] += arrived
    receives = [dist.irecv(chunks[(rank - step) % p], left) for step in range(p - 1)]
    for step in range(p - 1):
        outgoing = (rank + 1 - step) % p
        dist.isend(chunks[outgoing], right).wait()
        receives[step].wait()
    return torch.cat(chunks)

# %% right_split_with_empty_chunks: passed
# differs: One loop does both halves, which differ by one in who sends what; short vectors get empty chunks at the end.
def ring_all_reduce(x):
    r, p = dist.get_rank(), dist.get_world_size()
    y = x.clone()
    size = -(-len(x) // p)
    cs = list(y.split(size)) if len(y) else []
    while len(cs) < p:
        cs.append(y[:0])
    for ph in (0, 1):
        for s in range(p - 1):
            i, j = (r + ph - s) % p, (r + ph - s - 1) % p
            b = torch.empty_like(cs[j])
            w2 = dist.irecv(b, (r - 1) % p)
            w1 = dist.isend(cs[i].clone(), (r + 1) % p)
            w1.wait()
            w2.wait()
            cs[j].copy_(cs[j] + b if ph == 0 else b)
        dist.barrier()
    return y

# %% right_tensor_split: passed
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for step in range(p - 1):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        work = dist.isend(chunks[outgoing], right)
        dist.recv(arrived, left)
        work.wait()
        chunks[incoming] += arrived
    for step in range(p - 1):
        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
        work = dist.isend(chunks[outgoing], right)
        dist.recv(chunks[incoming], left)
        work.wait()
    return torch.cat(chunks)

# %% wrong_adds_before_wait (right_polls): wrong, used_before_wait, levels 0 0 0 0
-        while works:
-            works = [work for work in works if not work.is_completed()]
@@
         chunks[incoming] += arrived
+        for work in works:
+            work.wait()

# %% wrong_adds_in_the_second_half (right_tensor_split): wrong, counted_twice, levels 0 0 0 0
-        dist.recv(chunks[incoming], left)
+        arrived = torch.empty_like(chunks[incoming])
+        dist.recv(arrived, left)
         work.wait()
+        chunks[incoming] += arrived

# %% wrong_chain_and_back: wrong, too_many_bytes, levels 0 0 0 0
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    if rank > 0:
        dist.recv(arrived, src=rank - 1)
        total += arrived
    if rank < p - 1:
        dist.send(total, dst=rank + 1)
        dist.recv(total, src=rank + 1)
    if rank > 0:
        dist.send(total, dst=rank - 1)
    return total

# %% wrong_chunk_list_too_short (right_tensor_split): raised, too_few_chunks, levels 1 1 0 1
-    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
+    chunks = [chunk.clone() for chunk in x.chunk(p)]

# %% wrong_chunks_straight_to_their_owner: wrong, not_a_ring, levels 0 1 0 0
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    mine = chunks[rank].clone()
    others = [r for r in range(p) if r != rank]
    works = [dist.isend(chunks[r], r) for r in others]
    for r in others:
        arrived = torch.empty_like(mine)
        dist.recv(arrived, r)
        mine += arrived
    for work in works:
        work.wait()
    works = [dist.isend(mine, r) for r in others]
    for r in others:
        dist.recv(chunks[r], r)
    for work in works:
        work.wait()
    chunks[rank] = mine
    return torch.cat(chunks)

# %% wrong_clears_what_is_being_sent (right_tensor_split): wrong, reused_buffer, levels 0 0 0 0
-def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
+def ring_all_reduce(x):
@@
         arrived = torch.empty_like(chunks[incoming])
         work = dist.isend(chunks[outgoing], right)
+        chunks[outgoing].zero_()

# %% wrong_copies_in_the_first_half (right_tensor_split): wrong, overwrites, levels 0 0 0 0
-        chunks[incoming] += arrived
+        chunks[incoming] = arrived

# %% wrong_drops_remainder: wrong, drops_remainder, levels 1 1 0 1
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    size = len(x) // p
    result = x.clone()
    chunks = [result[i * size : (i + 1) * size] for i in range(p)]
    for step in range(p - 1):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        work = dist.isend(chunks[outgoing], (rank + 1) % p)
        dist.recv(arrived, (rank - 1) % p)
        work.wait()
        chunks[incoming] += arrived
    for step in range(p - 1):
        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
        work = dist.isend(chunks[outgoing], (rank + 1) % p)
        dist.recv(chunks[incoming], (rank - 1) % p)
        work.wait()
    return result

# %% wrong_drops_remainder_shorter (right_tensor_split): wrong, drops_remainder, levels 1 1 0 1
-    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
+    chunks = [x[i * (len(x) // p) : (i + 1) * (len(x) // p)].clone() for i in range(p)]

# %% wrong_element_by_element (right_tensor_split): wrong, too_many_messages, levels 0 0 0 0
-        work = dist.isend(chunks[outgoing], right)
-        dist.recv(arrived, left)
-        work.wait()
+        works = [dist.isend(chunks[outgoing][i : i + 1], right) for i in range(len(chunks[outgoing]))]
+        for i in range(len(arrived)):
+            dist.recv(arrived[i : i + 1], left)
+        for work in works:
+            work.wait()

# %% wrong_every_second_rank_listens: wrong, takes_turns, levels 1 1 1 0
def step(outgoing, incoming):
    rank, p = dist.get_rank(), dist.get_world_size()
    calls = [lambda: dist.send(outgoing, (rank + 1) % p), lambda: dist.recv(incoming, (rank - 1) % p)]
    for call in calls if rank % 2 else reversed(calls):
        call()


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for s in range(p - 1):
        arrived = torch.empty_like(chunks[(rank - s - 1) % p])
        step(chunks[(rank - s) % p], arrived)
        chunks[(rank - s - 1) % p] += arrived
    for s in range(p - 1):
        step(chunks[(rank + 1 - s) % p], chunks[(rank - s) % p])
    return torch.cat(chunks)

# %% wrong_first_half_only (right_tensor_split): wrong, never_gathered, levels 0 0 0 0
-    for step in range(p - 1):
-        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
-        work = dist.isend(chunks[outgoing], right)
-        dist.recv(chunks[incoming], left)
-        work.wait()

# %% wrong_float_buffer (right_tensor_split): hung, mismatched_dtype, levels 1 0 0 1
-        arrived = torch.empty_like(chunks[incoming])
+        arrived = torch.empty(len(chunks[incoming]), dtype=torch.float64)

# %% wrong_gather_one_step_short (right_tensor_split): wrong, one_step_short, levels 0 0 0 0
         chunks[incoming] += arrived
-    for step in range(p - 1):
+    for step in range(p - 2):

# %% wrong_itself_on_one_rank (right_tensor_split): wrong, not_new, levels 1 1 0 1
     right, left = (rank + 1) % p, (rank - 1) % p
+    if p == 1:
+        return x  # nobody to add

# %% wrong_keeps_padding (right_tensor_split): wrong, keeps_padding, levels 1 1 0 1
-    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
+    chunks = [chunk.clone() for chunk in torch.nn.functional.pad(x, (0, -len(x) % p)).chunk(p)]

# %% wrong_last_chunk_takes_the_rest: wrong, uneven_chunks, levels 1 1 0 1
def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    k = len(x) // p
    y = x.clone()
    c = [y[i * k : (i + 1) * k if i < p - 1 else len(x)] for i in range(p)]
    r, l = (rank + 1) % p, (rank - 1) % p
    for s in range(p - 1):
        t = torch.empty_like(c[(rank - s - 1) % p])
        q = dist.isend(c[(rank - s) % p], r)
        dist.recv(t, l)
        q.wait()
        c[(rank - s - 1) % p].add_(t)
    for s in range(p - 1):
        q = dist.isend(c[(rank - s + 1) % p], r)
        dist.recv(c[(rank - s) % p], l)
        q.wait()
    return y

# %% wrong_line_not_a_ring (right_tensor_split): raised, ValueError, levels 0 0 0 0
-    right, left = (rank + 1) % p, (rank - 1) % p
+    right, left = rank + 1, rank - 1

# %% wrong_modifies_input (right_tensor_split): wrong, modifies_input, levels 0 0 0 0
-    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
+    chunks = list(torch.tensor_split(x, p))

# %% wrong_never_waits_for_isend (right_polls): wrong, forgot_wait, levels 0 0 0 0
-        works = [dist.irecv(arrived, left), dist.isend(chunks[outgoing], right)]
-        while works:
-            works = [work for work in works if not work.is_completed()]
+        dist.isend(chunks[outgoing], right)
+        dist.recv(arrived, left)
@@
-        work = dist.isend(chunks[outgoing], right)
+        dist.isend(chunks[outgoing], right)
@@
-        work.wait()

# %% wrong_not_written: missing, not_written, levels 0 0 0 0
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError("write this function")

# %% wrong_one_after_the_other: wrong, one_after_the_other, levels 1 1 1 0
def pass_on(outgoing, arrived):
    rank, p = dist.get_rank(), dist.get_world_size()
    if rank == 0:  # somebody has to begin
        dist.send(outgoing, 1)
        dist.recv(arrived, p - 1)
    else:
        dist.recv(arrived, rank - 1)
        dist.send(outgoing, (rank + 1) % p)


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for step in range(p - 1):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        pass_on(chunks[outgoing], arrived)
        chunks[incoming] += arrived
    for step in range(p - 1):
        pass_on(chunks[(rank + 1 - step) % p], chunks[(rank - step) % p])
    return torch.cat(chunks)

# %% wrong_one_after_the_other_if_odd: wrong, one_after_the_other, levels 1 1 1 0
def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    chunks = [c.clone() for c in x.tensor_split(p)]
    for half in (0, 1):
        for step in range(p - 1):
            out, came = (rank + half - step) % p, (rank + half - step - 1) % p
            arrived = torch.empty_like(chunks[came])
            if p % 2:  # an odd ring: even and odd ranks cannot take turns, rank 0 goes first
                if rank == 0:
                    dist.send(chunks[out], right)
                    dist.recv(arrived, left)
                else:
                    dist.recv(arrived, left)
                    dist.send(chunks[out], right)
            else:
                work = dist.isend(chunks[out], right)
                dist.recv(arrived, left)
                work.wait()
            chunks[came] = arrived if half else chunks[came] + arrived
    return torch.cat(chunks)

# %% wrong_one_buffer_for_all_receives: wrong, used_before_wait, levels 0 0 0 0
def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    longest = -(-len(x) // p)
    padded = torch.zeros(longest * p, dtype=x.dtype)
    padded[: len(x)] = x
    chunks = list(padded.view(p, longest))
    arrived = torch.empty(longest, dtype=x.dtype)
    requests = [dist.irecv(arrived, left) for _ in range(p - 1)]
    for step, request in enumerate(requests):
        send = dist.isend(chunks[(rank - step) % p], right)
        request.wait()
        chunks[(rank - step - 1) % p] += arrived
        send.wait()
    for step in range(p - 1):
        send = dist.isend(chunks[(rank + 1 - step) % p], right)
        dist.recv(chunks[(rank - step) % p], left)
        send.wait()
    return padded[: len(x)]

# %% wrong_one_step_short (right_tensor_split): wrong, one_step_short, levels 0 0 0 0
     chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
-    for step in range(p - 1):
+    for step in range(p - 2):

# %% wrong_padding_of_floats: wrong, wrong_dtype, levels 1 1 0 1
def ring_all_reduce(x):
    rank, p, n = dist.get_rank(), dist.get_world_size(), len(x)
    padded = x.clone()
    if n % p:
        padded = torch.cat([padded, torch.zeros(p - n % p)])
    chunks = list(padded.chunk(p))
    right, left = (rank + 1) % p, (rank - 1) % p
    for half in (0, 1):
        for step in range(p - 1):
            out, came = (rank + half - step) % p, (rank + half - step - 1) % p
            arrived = torch.empty_like(chunks[came])
            work = dist.isend(chunks[out].clone(), right)
            dist.recv(arrived, left)
            work.wait()
            chunks[came].copy_(arrived if half else chunks[came] + arrived)
    return padded[:n]

# %% wrong_receives_from_the_right (right_tensor_split): hung, deadlock, levels 0 0 0 0
-    right, left = (rank + 1) % p, (rank - 1) % p
+    right, left = (rank + 1) % p, (rank + 1) % p

# %% wrong_receives_over_what_it_sends: wrong, reused_buffer, levels 0 0 0 0
def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    longest = -(-len(x) // p)
    table = torch.zeros(p, longest, dtype=x.dtype)
    table.view(-1)[: len(x)] = x
    moving = table[rank].clone()
    for step in range(p - 1):
        send = dist.isend(moving, (rank + 1) % p)
        receive = dist.irecv(moving, (rank - 1) % p)
        receive.wait()
        send.wait()
        moving += table[(rank - step - 1) % p]
    table[(rank + 1) % p] = moving
    for step in range(p - 1):
        send = dist.isend(moving, (rank + 1) % p)
        receive = dist.irecv(moving, (rank - 1) % p)
        receive.wait()
        send.wait()
        table[(rank - step) % p] = moving
    return table.view(-1)[: len(x)]

# %% wrong_recv_first (right_irecv_and_send): hung, deadlock, levels 0 0 0 0
-    for step in range(2 * (p - 1)):
+    for step in range(p - 1):
@@
-        work = dist.irecv(arrived, left)
+        dist.recv(arrived, left)
@@
-        work.wait()
-        chunks[incoming] = chunks[incoming] + arrived if step < p - 1 else arrived
+        chunks[incoming] += arrived
+    for step in range(p - 1):
+        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
+        dist.recv(chunks[incoming], left)
+        dist.send(chunks[outgoing], right)

# %% wrong_returns_nothing_on_one_rank (right_batched): wrong, returns_nothing, levels 1 1 0 1
-        return x.clone()
+        return

# %% wrong_second_half_starts_at_own_chunk (right_tensor_split): wrong, overwrites, levels 0 0 0 0
-        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
+        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p

# %% wrong_send_first (right_irecv_and_send): hung, unsafe_send, levels 0 0 0 0
-    for step in range(2 * (p - 1)):
+    for step in range(p - 1):
@@
-        work = dist.irecv(arrived, left)
@@
-        work.wait()
-        chunks[incoming] = chunks[incoming] + arrived if step < p - 1 else arrived
+        dist.recv(arrived, left)
+        chunks[incoming] += arrived
+    for step in range(p - 1):
+        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
+        dist.send(chunks[outgoing], right)
+        dist.recv(chunks[incoming], left)

# %% wrong_sends_the_same_chunk (right_tensor_split): wrong, mixed_up, levels 0 0 0 0
-        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
+        incoming = (rank - step - 1) % p
@@
         arrived = torch.empty_like(chunks[incoming])
-        work = dist.isend(chunks[outgoing], right)
+        work = dist.isend(chunks[rank], right)

# %% wrong_starts_with_its_own_chunk: wrong, wrong_order, levels 0 0 0 0
def ring_all_reduce(x):
    r, p = dist.get_rank(), dist.get_world_size()
    cs = [c.clone() for c in torch.tensor_split(x, p)]
    for s in range(p - 1):
        b = torch.empty_like(cs[(r - s - 1) % p])
        w = dist.isend(cs[(r - s) % p], (r + 1) % p)
        dist.recv(b, (r - 1) % p)
        w.wait()
        cs[(r - s - 1) % p] += b
    m = cs[(r + 1) % p]
    out = [m]
    for s in range(p - 1):
        b = torch.empty_like(cs[(r - s) % p])
        w = dist.isend(m, (r + 1) % p)
        dist.recv(b, (r - 1) % p)
        w.wait()
        out.append(b)
        m = b
    return torch.cat(out)

# %% wrong_sum_on_rank_0_only: wrong, only_one_rank, levels 0 0 0 0
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    if rank < p - 1:
        dist.recv(arrived, src=rank + 1)
        total += arrived
    if rank > 0:
        dist.send(total, dst=rank - 1)
    return total

# %% wrong_through_double: wrong, lost_digits, levels 1 0 0 1
def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    kind = x.dtype if x.dtype == torch.bfloat16 else torch.float32 if x.dtype == torch.float32 else torch.float64
    chunks = [c.to(kind, copy=True) for c in torch.tensor_split(x, p)]
    for step in range(2 * (p - 1)):
        send, take = (rank - step) % p, (rank - step - 1) % p
        room = torch.empty_like(chunks[take])
        request = dist.isend(chunks[send], (rank + 1) % p)
        dist.recv(room, (rank - 1) % p)
        request.wait()
        chunks[take] = chunks[take] + room if step < p - 1 else room
    return torch.cat(chunks).to(x.dtype)

# %% wrong_through_rank_0: wrong, not_a_ring, levels 0 0 0 0
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
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

# %% wrong_to_the_left_even_odd: wrong, takes_turns, levels 1 1 1 0
def shift_left(block, room):
    """Even ranks send first, odd ranks receive first."""
    rank, p = dist.get_rank(), dist.get_world_size()
    left, right = (rank + p - 1) % p, (rank + 1) % p
    if rank % 2 == 0:
        dist.send(block, dst=left)
        dist.recv(room, src=right)
    else:
        dist.recv(room, src=right)
        dist.send(block, dst=left)


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    bounds = [i * len(x) // p for i in range(p + 1)]
    y = x.clone()
    chunk = lambda i: y[bounds[i % p] : bounds[i % p + 1]]
    for s in range(p - 1):
        room = torch.empty_like(chunk(rank + s + 1))
        shift_left(chunk(rank + s), room)
        chunk(rank + s + 1).add_(room)
    for s in range(p - 1):
        shift_left(chunk(rank - 1 + s), chunk(rank + s))
    return y

# %% wrong_two_ranks_only: wrong, one_step_short, levels 0 0 0 0
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    work = dist.isend(x, (rank + 1) % p)
    dist.recv(arrived, (rank - 1) % p)
    work.wait()
    return x + arrived

# %% wrong_uses_all_reduce: wrong, uses_all_reduce, levels 0 0 0 0
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total

# %% wrong_uses_two_halves: wrong, uses_collective, levels 0 0 0 0
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    p, n = dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.new_empty(padded.numel() // p)
    dist.reduce_scatter_tensor(chunk, padded)
    result = torch.empty_like(padded)
    dist.all_gather_into_tensor(result, chunk)
    return result[:n]

# %% wrong_waits_for_the_send_only (right_polls): wrong, forgot_wait, levels 0 0 0 0
-        works = [dist.irecv(arrived, left), dist.isend(chunks[outgoing], right)]
-        while works:
-            works = [work for work in works if not work.is_completed()]
+        dist.irecv(arrived, left)
+        dist.isend(chunks[outgoing], right).wait()

# %% wrong_whole_vectors: wrong, too_many_bytes, levels 0 0 0 0
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, moving = x.clone(), x.clone()
    for _ in range(p - 1):
        arrived = torch.empty_like(x)
        work = dist.isend(moving, (rank + 1) % p)
        dist.recv(arrived, (rank - 1) % p)
        work.wait()
        total += arrived
        moving = arrived
    return total
