# Right and wrong answers to `halving_doubling`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_batched: passed
def halving_doubling(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    q = 1 << (p.bit_length() - 1)
    v = x.clone()
    if rank >= q:
        dist.send(x, rank - q)
        dist.recv(v, rank - q)
        return v
    if rank + q < p:
        got = torch.empty_like(x)
        dist.recv(got, rank + q)
        v += got

    def swap(out, into, peer):
        ops = [dist.P2POp(dist.isend, out.contiguous(), peer), dist.P2POp(dist.irecv, into, peer)]
        for request in dist.batch_isend_irecv(ops):
            request.wait()

    piece, d, todo = v, q // 2, []
    while d:
        low, high = piece.tensor_split(2)
        keep, give = (high, low) if rank & d else (low, high)
        got = torch.empty_like(keep)
        swap(give, got, rank ^ d)
        keep += got
        todo.append((keep, give, d))
        piece = keep
        d //= 2
    for keep, give, d in reversed(todo):
        swap(keep, give, rank ^ d)
    if rank + q < p:
        dist.send(v, rank + q)
    return v

# %% right_even_and_odd: passed
def halving_doubling(x):
    r, p = dist.get_rank(), dist.get_world_size()
    levels = p.bit_length() - 1
    q = 2**levels
    extra = p - q
    x = x.clone()
    if r < 2 * extra and r % 2:
        dist.send(x, r - 1)
        dist.recv(x, r - 1)
        return x
    if r < 2 * extra:
        got = torch.empty_like(x)
        dist.recv(got, r + 1)
        x += got
    names = [*range(0, 2 * extra, 2), *range(2 * extra, p)]
    me = names.index(r)
    lo, hi, trail = 0, len(x), []
    for k in reversed(range(levels)):
        mid, other = (lo + hi) // 2, names[me ^ 2**k]
        keep, give = ((mid, hi), (lo, mid)) if me >> k & 1 else ((lo, mid), (mid, hi))
        got = x.new_empty(keep[1] - keep[0])
        request = dist.irecv(got, other)
        dist.send(x[slice(*give)], other)
        request.wait()
        x[slice(*keep)] += got
        trail.append((keep, give, other))
        lo, hi = keep
    for keep, give, other in trail[::-1]:
        got = x.new_empty(give[1] - give[0])
        request = dist.irecv(got, other)
        dist.send(x[slice(*keep)], other)
        request.wait()
        x[slice(*give)] = got
    if r < 2 * extra:
        dist.send(x, r + 1)
    return x

# %% right_halves: passed
# differs: It remembers which half was kept and which was given, and goes the same way back.
def swap(give, get, other):
    sent = dist.isend(give.clone(), other)
    dist.recv(get, other)
    sent.wait()


def halving_doubling(x):
    r, p = dist.get_rank(), dist.get_world_size()
    x, q = x.clone(), 1 << (p.bit_length() - 1)
    if r >= q:
        dist.send(x, r - q)
        dist.recv(x, r - q)
        return x
    if r + q < p:
        got = torch.empty_like(x)
        dist.recv(got, r + q)
        x += got
    part, halves, d = x, [], q // 2
    while d:
        low, high = part.tensor_split(2)
        keep, give = (high, low) if r & d else (low, high)
        got = torch.empty_like(keep)
        swap(give, got, r ^ d)
        keep += got
        halves.append((keep, give, r ^ d))
        part, d = keep, d // 2
    for keep, give, other in reversed(halves):
        got = torch.empty_like(give)
        swap(keep, got, other)
        give.copy_(got)
    if r + q < p:
        dist.send(x, r + q)
    return x

# %% right_recursive: passed
def both(give, size, other):
    got = give.new_empty(size)
    for request in dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, give.contiguous(), other),
            dist.P2POp(dist.irecv, got, other),
        ]
    ):
        request.wait()
    return got


def inner(x, d):
    if not d:
        return x
    r, k = dist.get_rank(), len(x) // 2
    if r & d:
        mine = inner(x[k:] + both(x[:k], len(x) - k, r ^ d), d // 2)
        return torch.cat([both(mine, k, r ^ d), mine])
    mine = inner(x[:k] + both(x[k:], k, r ^ d), d // 2)
    return torch.cat([mine, both(mine, len(x) - k, r ^ d)])


def halving_doubling(x):
    r, p, q = dist.get_rank(), dist.get_world_size(), 1
    while 2 * q <= p:
        q *= 2
    extra = p - q
    if extra == 0:
        return inner(x, q // 2)
    total = torch.empty_like(x)
    if r >= q:
        dist.send(x, r % q)
        dist.recv(total, r % q)
        return total
    if r < extra:
        dist.recv(total, r + q)
        total = inner(x + total, q // 2)
        dist.send(total, r + q)
        return total
    return inner(x, q // 2)

# %% wrong_all_reduce: wrong, uses_all_reduce, levels 0 0 0
def halving_doubling(x):
    x = x.clone()
    dist.all_reduce(x)
    return x

# %% wrong_barrier (right_recursive): wrong, uses_collective, levels 0 0 0
     extra = p - q
+    dist.barrier()

# %% wrong_double_width (right_batched): wrong, sends_a_wider_type, levels 1 0 1
-    v = x.clone()
+    v = x.to(torch.float64, copy=True) if x.is_floating_point() else x.clone()
@@
-        return v
+        return v.to(x.dtype)
@@
-    return v
+    return v.to(x.dtype)

# %% wrong_even_split (right_halves): raised, RuntimeError, levels 0 0 0
-        low, high = part.tensor_split(2)
+        low, high = part[: len(part) // 2], part[len(part) // 2 :]
+        if len(low) != len(high):
+            high = torch.cat([high, high.new_zeros(len(low) - len(high))])

# %% wrong_float32 (right_halves): wrong, lost_digits, levels 0 0 0
-    x, q = x.clone(), 1 << (p.bit_length() - 1)
+    dtype = x.dtype
+    x, q = x.float().clone(), 1 << (p.bit_length() - 1)
@@
-        return x
+        return x.to(dtype)
@@
-    return x
+    return x.to(dtype)

# %% wrong_gathers (right_halves): wrong, uses_collective, levels 0 0 0
-    for keep, give, other in reversed(halves):
-        got = torch.empty_like(give)
-        swap(keep, got, other)
-        give.copy_(got)
+    if p > 1 and p == q:
+        parts = [None] * p
+        dist.all_gather_object(parts, part)
+        order = [int(format(k, f"0{q.bit_length() - 1}b"), 2) for k in range(q)]
+        x = torch.cat([parts[k] for k in order])

# %% wrong_half_in_float32 (right_halves): wrong, sends_a_wider_type, levels 1 0 1
-    x, q = x.clone(), 1 << (p.bit_length() - 1)
+    kind, q = x.dtype, 1 << (p.bit_length() - 1)
+    x = x.float() if kind == torch.float16 else x.clone()
@@
-        return x
+        return x.to(kind)
@@
-    return x
+    return x.to(kind)

# %% wrong_in_float64: wrong, lost_digits, levels 0 0 1
def halving_doubling(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    q = 1 << (p.bit_length() - 1)
    v = x.to(torch.float64, copy=True)
    if rank >= q:
        dist.send(v, rank - q)
        dist.recv(v, rank - q)
        return v.to(x.dtype)
    if rank + q < p:
        got = torch.empty_like(v)
        dist.recv(got, rank + q)
        v += got
    piece, d, todo = v, q // 2, []
    while d:
        low, high = piece.tensor_split(2)
        keep, give = (high, low) if rank & d else (low, high)
        got = torch.empty_like(keep)
        sent = dist.isend(give.contiguous(), rank ^ d)
        dist.recv(got, rank ^ d)
        sent.wait()
        keep += got
        todo.append((keep, give, d))
        piece = keep
        d //= 2
    for keep, give, d in reversed(todo):
        sent = dist.isend(keep.contiguous(), rank ^ d)
        dist.recv(give, rank ^ d)
        sent.wait()
    if rank + q < p:
        dist.send(v, rank + q)
    return v.to(x.dtype)

# %% wrong_ints_in_64_bits (right_halves): wrong, sends_a_wider_type, levels 1 0 1
-    x, q = x.clone(), 1 << (p.bit_length() - 1)
+    kind = x.dtype
+    x, q = x.clone() if x.is_floating_point() else x.to(torch.int64, copy=True), 1 << (p.bit_length() - 1)
@@
-        return x
+        return x.to(kind)
@@
-    return x
+    return x.to(kind)

# %% wrong_left_out (right_halves): wrong, extra_ranks_left_out, levels 1 1 0
-        dist.send(x, r - q)
@@
-    if r + q < p:
-        got = torch.empty_like(x)
-        dist.recv(got, r + q)
-        x += got

# %% wrong_not_doubled (right_halves): wrong, not_doubled, levels 0 0 0
-    for keep, give, other in reversed(halves):
-        got = torch.empty_like(give)
-        swap(keep, got, other)
-        give.copy_(got)

# %% wrong_not_told (right_halves): wrong, extra_ranks_not_told, levels 1 1 0
-        dist.recv(x, r - q)
@@
-    if r + q < p:
-        dist.send(x, r + q)

# %% wrong_not_waited (right_halves): wrong, forgot_wait, levels 0 0 0
-    sent = dist.isend(give.clone(), other)
+    dist.isend(give.clone(), other)
@@
-    sent.wait()

# %% wrong_one_after_the_other (right_halves): hung, deadlock, levels 0 0 0
-    sent = dist.isend(give.clone(), other)
@@
-    sent.wait()
+    dist.send(give, other)

# %% wrong_padded (right_halves): wrong, sends_the_padding, levels 1 0 0
-    x, q = x.clone(), 1 << (p.bit_length() - 1)
+    n, q = len(x), 1 << (p.bit_length() - 1)
+    x = torch.cat([x, x.new_zeros(-n % q)])
@@
-        return x
+        return x[:n].clone()
@@
-    return x
+    return x[:n].clone()

# %% wrong_padded_with_extra_ranks (right_halves): wrong, sends_the_padding, levels 1 1 0
# not a power of two: padded, in float64 from the start
-    x, q = x.clone(), 1 << (p.bit_length() - 1)
+    n, q = len(x), 1 << (p.bit_length() - 1)
+    x = torch.cat([x, x.new_zeros(-n % q if p != q else 0)])
@@
-        return x
+        return x[:n].clone()
@@
-    return x
+    return x[:n].clone()

# %% wrong_powers_of_two (right_halves): raised, ValueError, levels 1 1 0
-    x, q = x.clone(), 1 << (p.bit_length() - 1)
-    if r >= q:
-        dist.send(x, r - q)
-        dist.recv(x, r - q)
-        return x
-    if r + q < p:
-        got = torch.empty_like(x)
-        dist.recv(got, r + q)
-        x += got
+    x, q = x.clone(), p
@@
-    if r + q < p:
-        dist.send(x, r + q)

# %% wrong_rest_not_summed: wrong, rest_not_summed, levels 0 0 0
import math


def halving_doubling(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    q = 2 ** int(math.log2(p))
    n = x.shape[0]
    bounds = [i * (n // q) for i in range(q + 1)]
    total = torch.empty(n, dtype=x.dtype)
    total.copy_(x)
    if rank >= q:
        dist.send(total, rank - q)
        dist.recv(total, rank - q)
        return total
    helper = rank + q if rank + q < p else None
    if helper is not None:
        buffer = torch.empty_like(total)
        dist.recv(buffer, helper)
        total.add_(buffer)

    def both(out, into, partner):
        operations = []
        if out.numel() > 0:
            operations.append(dist.P2POp(dist.isend, out, partner))
        if into.numel() > 0:
            operations.append(dist.P2POp(dist.irecv, into, partner))
        if operations:
            for work in dist.batch_isend_irecv(operations):
                work.wait()

    steps = int(math.log2(q))
    for step in range(steps):
        d = q >> (step + 1)
        mine = rank // d * d
        theirs = (rank ^ d) // d * d
        keep = total[bounds[mine] : bounds[mine + d]]
        give = total[bounds[theirs] : bounds[theirs + d]].clone()
        got = torch.empty_like(keep)
        both(give, got, rank ^ d)
        keep += got
    for step in reversed(range(steps)):
        d = q >> (step + 1)
        mine, theirs = rank // d * d, (rank ^ d) // d * d
        got = torch.empty_like(total[bounds[theirs] : bounds[theirs + d]])
        both(total[bounds[mine] : bounds[mine + d]].clone(), got, rank ^ d)
        total[bounds[theirs] : bounds[theirs + d]] = got
    if helper is not None:
        dist.send(total, helper)
    return total

# %% wrong_ring: wrong, too_many_messages, levels 1 0 0
def ring(x, ranks):
    me, p = ranks.index(dist.get_rank()), len(ranks)
    right, left = ranks[(me + 1) % p], ranks[(me - 1) % p]
    parts = list(x.tensor_split(p))
    for phase in (0, 1):
        for s in range(p - 1):
            out, into = (me - s - 1 + phase) % p, (me - s - 2 + phase) % p
            got = torch.empty_like(parts[into])
            sent = dist.isend(parts[out].clone(), right)
            dist.recv(got, left)
            sent.wait()
            if phase:
                parts[into].copy_(got)
            else:
                parts[into] += got
    return parts[me]


def halving_doubling(x):
    x = x.clone()
    if dist.get_world_size() > 1:
        ring(x, list(range(dist.get_world_size())))
    return x

# %% wrong_ring_for_the_others (right_halves): wrong, too_many_messages, levels 1 1 0
     sent.wait()


+def ring(x, ranks):
+    me, p = ranks.index(dist.get_rank()), len(ranks)
+    right, left = ranks[(me + 1) % p], ranks[(me - 1) % p]
+    parts = list(x.tensor_split(p))
+    for phase in (0, 1):
+        for s in range(p - 1):
+            out, into = (me - s - 1 + phase) % p, (me - s - 2 + phase) % p
+            got = torch.empty_like(parts[into])
+            sent = dist.isend(parts[out].clone(), right)
+            dist.recv(got, left)
+            sent.wait()
+            if phase:
+                parts[into].copy_(got)
+            else:
+                parts[into] += got
+    return parts[me]
+
+
@@
     r, p = dist.get_rank(), dist.get_world_size()
+    if p & (p - 1):
+        x = x.clone()
+        ring(x, list(range(p)))
+        return x

# %% wrong_short_whole (right_halves): wrong, sends_the_whole_vector, levels 1 0 1
     part, halves, d = x, [], q // 2
+    while d and len(x) < q:  # too short to halve
+        got = torch.empty_like(x)
+        swap(x, got, r ^ d)
+        x += got
+        d //= 2

# %% wrong_stand_aside (right_halves): wrong, extra_ranks_stand_aside, levels 1 1 0
-        dist.send(x, r - q)
-        dist.recv(x, r - q)
@@
-    if r + q < p:
-        got = torch.empty_like(x)
-        dist.recv(got, r + q)
-        x += got
@@
-    if r + q < p:
-        dist.send(x, r + q)

# %% wrong_whole_vector (right_halves): wrong, sends_the_whole_vector, levels 1 0 0
-    part, halves, d = x, [], q // 2
-    while d:
-        low, high = part.tensor_split(2)
-        keep, give = (high, low) if r & d else (low, high)
-        got = torch.empty_like(keep)
-        swap(give, got, r ^ d)
-        keep += got
-        halves.append((keep, give, r ^ d))
-        part, d = keep, d // 2
-    for keep, give, other in reversed(halves):
-        got = torch.empty_like(give)
-        swap(keep, got, other)
-        give.copy_(got)
+    d = 1
+    while d < q:
+        got = torch.empty_like(x)
+        swap(x, got, r ^ d)
+        x += got
+        d *= 2
