# Right and wrong answers to `reshard`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_all_to_all: passed
# differs: Who gives how much to whom is worked out on every rank, and one `all_to_all` moves it.
def edges(n, p, r):
    low = r * (n // p) + min(r, n % p)
    return (low, low + n // p + (r < n % p)) if r < p else (n, n)


def overlap(n, old, new, a, b):
    (i, j), (k, l) = edges(n, old, a), edges(n, new, b)
    return max(i, k), max(min(j, l), max(i, k))


def reshard(shard, n, old, new):
    rank, p = dist.get_rank(), dist.get_world_size()
    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
    mine = shard.new_empty(sum(gets))
    dist.all_to_all_single(mine, shard, gets, gives)
    return mine

# %% right_batch_of_messages: passed
def edges(n, p, r):
    low = r * (n // p) + min(r, n % p)
    return (low, low + n // p + (r < n % p)) if r < p else (n, n)


def overlap(n, old, new, a, b):
    (i, j), (k, l) = edges(n, old, a), edges(n, new, b)
    return max(i, k), max(min(j, l), max(i, k))


def reshard(shard, n, old, new):
    rank, p = dist.get_rank(), dist.get_world_size()
    begin = edges(n, old, rank)[0]
    works, parts = [], []
    for other in range(p):
        i, j = overlap(n, old, new, other, rank)
        part = shard.new_empty(j - i)
        if other == rank:
            part.copy_(shard[i - begin : j - begin])
        elif i < j:
            works.append(dist.P2POp(dist.irecv, part, other))
        parts.append(part)
        i, j = overlap(n, old, new, rank, other)
        if i < j and other != rank:
            works.append(dist.P2POp(dist.isend, shard[i - begin : j - begin], other))
    for work in dist.batch_isend_irecv(works) if works else []:
        work.wait()
    return torch.cat(parts)

# %% right_messages: passed
def edges(n, p, r):
    low = r * (n // p) + min(r, n % p)
    return (low, low + n // p + (r < n % p)) if r < p else (n, n)


def overlap(n, old, new, a, b):
    (i, j), (k, l) = edges(n, old, a), edges(n, new, b)
    return max(i, k), max(min(j, l), max(i, k))


def reshard(shard, n, old, new):
    rank, p = dist.get_rank(), dist.get_world_size()
    low, high = edges(n, new, rank)
    begin = edges(n, old, rank)[0]
    mine, works = shard.new_empty(high - low), []
    for other in range(p):
        i, j = overlap(n, old, new, rank, other)
        if i < j and other != rank:
            works.append(dist.isend(shard[i - begin : j - begin].clone(), other))
        elif i < j:
            mine[i - low : j - low] = shard[i - begin : j - begin]
    for other in range(p):
        i, j = overlap(n, old, new, other, rank)
        if i < j and other != rank:
            part = shard.new_empty(j - i)
            dist.recv(part, other)
            mine[i - low : j - low] = part
    for work in works:
        work.wait()
    return mine

# %% wrong_chunks (right_all_to_all): wrong, equal_shares, levels 0 0
     return (low, low + n // p + (r < n % p)) if r < p else (n, n)
+
+
+def new_edges(n, p, r):
+    share = -(-n // p)
+    return min(n, min(r, p) * share), min(n, min(r + 1, p) * share)
@@
-    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
-    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
-    mine = shard.new_empty(sum(gets))
-    dist.all_to_all_single(mine, shard, gets, gives)
-    return mine
+    whole = shard.new_zeros(n)
+    low, high = edges(n, old, rank)
+    whole[low:high] = shard
+    dist.all_reduce(whole)
+    low, high = new_edges(n, new, rank)
+    return whole[low:high].clone()

# %% wrong_float32 (right_all_to_all): wrong, lost_digits, levels 0 0
-    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
-    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
-    mine = shard.new_empty(sum(gets))
-    dist.all_to_all_single(mine, shard, gets, gives)
-    return mine
+    whole = torch.zeros(n)
+    low, high = edges(n, old, rank)
+    whole[low:high] = shard
+    dist.all_reduce(whole)
+    low, high = edges(n, new, rank)
+    return whole[low:high].to(shard.dtype)

# %% wrong_floats_in_float64 (right_all_to_all): wrong, too_many_bytes, levels 1 0
     rank, p = dist.get_rank(), dist.get_world_size()
+    kind, shard = shard.dtype, shard.double() if shard.is_floating_point() else shard
@@
-    return mine
+    return mine.to(kind)

# %% wrong_gathers (right_all_to_all): wrong, gathers_everything, levels 1 0
-    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
-    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
-    mine = shard.new_empty(sum(gets))
-    dist.all_to_all_single(mine, shard, gets, gives)
-    return mine
+    largest = n // old + 1
+    padded = shard.new_zeros(largest)
+    padded[: len(shard)] = shard
+    parts = [torch.empty_like(padded) for _ in range(p)]
+    dist.all_gather(parts, padded)
+    whole = torch.cat([part[: edges(n, old, r)[1] - edges(n, old, r)[0]] for r, part in enumerate(parts)])
+    low, high = edges(n, new, rank)
+    return whole[low:high].clone()

# %% wrong_in_int64 (right_all_to_all): wrong, too_many_bytes, levels 1 0
     gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
+    kind, shard = shard.dtype, shard if shard.is_floating_point() else shard.long()
@@
-    return mine
+    return mine.to(kind)

# %% wrong_neighbours_only (right_messages): wrong, neighbours_only, levels 0 0
     mine, works = shard.new_empty(high - low), []
-    for other in range(p):
+    for other in range(max(0, rank - 1), min(p, rank + 2)):
@@
             mine[i - low : j - low] = shard[i - begin : j - begin]
-    for other in range(p):
+    for other in range(max(0, rank - 1), min(p, rank + 2)):

# %% wrong_never_fewer_than_ranks (right_messages): hung, mismatched_shape, levels 0 1
     rank, p = dist.get_rank(), dist.get_world_size()
+    n = max(n, old)

# %% wrong_one_rank_splits_its_own (right_messages): wrong, wrong_shape, levels 0 1
     rank, p = dist.get_rank(), dist.get_world_size()
+    if old == 1:
+        return shard.tensor_split(new)[rank].clone()

# %% wrong_over_rank_0 (right_all_to_all): wrong, too_many_bytes, levels 1 0
-    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
-    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
-    mine = shard.new_empty(sum(gets))
-    dist.all_to_all_single(mine, shard, gets, gives)
-    return mine
+    parts = [shard.new_empty(edges(n, old, r)[1] - edges(n, old, r)[0]) for r in range(p)]
+    if rank:
+        if len(shard):
+            dist.send(shard, 0)
+        low, high = edges(n, new, rank)
+        mine = shard.new_empty(high - low)
+        if high > low:
+            dist.recv(mine, 0)
+        return mine
+    for r in range(1, p):
+        if len(parts[r]):
+            dist.recv(parts[r], r)
+    parts[0] = shard
+    whole = torch.cat(parts)
+    for r in range(1, p):
+        low, high = edges(n, new, r)
+        if high > low:
+            dist.send(whole[low:high].clone(), r)
+    return whole[: edges(n, new, 0)[1]].clone()

# %% wrong_remainder (right_all_to_all): wrong, drops_remainder, levels 0 0
     return (low, low + n // p + (r < n % p)) if r < p else (n, n)
+
+
+def new_edges(n, p, r):
+    return (r * (n // p), (r + 1) * (n // p)) if r < p else (0, 0)
@@
-    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
-    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
-    mine = shard.new_empty(sum(gets))
-    dist.all_to_all_single(mine, shard, gets, gives)
-    return mine
+    whole = shard.new_zeros(n)
+    low, high = edges(n, old, rank)
+    whole[low:high] = shard
+    dist.all_reduce(whole)
+    low, high = new_edges(n, new, rank)
+    return whole[low:high].clone()

# %% wrong_returns_all (right_all_to_all): wrong, the_whole, levels 0 0
-    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
-    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
-    mine = shard.new_empty(sum(gets))
-    dist.all_to_all_single(mine, shard, gets, gives)
-    return mine
+    largest = n // old + 1
+    padded = shard.new_zeros(largest)
+    padded[: len(shard)] = shard
+    parts = [torch.empty_like(padded) for _ in range(p)]
+    dist.all_gather(parts, padded)
+    whole = torch.cat([part[: edges(n, old, r)[1] - edges(n, old, r)[0]] for r, part in enumerate(parts)])
+    return whole

# %% wrong_same (right_all_to_all): wrong, keeps_its_shard, levels 0 0
-    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
-    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
-    mine = shard.new_empty(sum(gets))
-    dist.all_to_all_single(mine, shard, gets, gives)
-    return mine
+    dist.barrier()
+    return shard.clone()

# %% wrong_sums_up (right_all_to_all): wrong, too_many_bytes, levels 1 0
-    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
-    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
-    mine = shard.new_empty(sum(gets))
-    dist.all_to_all_single(mine, shard, gets, gives)
-    return mine
+    whole = shard.new_zeros(n)
+    low, high = edges(n, old, rank)
+    whole[low:high] = shard
+    dist.all_reduce(whole)
+    low, high = edges(n, new, rank)
+    return whole[low:high].clone()

# %% wrong_unwaited (right_messages): wrong, forgot_wait, levels 0 0
-    mine, works = shard.new_empty(high - low), []
+    mine = shard.new_empty(high - low)
@@
-            works.append(dist.isend(shard[i - begin : j - begin].clone(), other))
+            dist.isend(shard[i - begin : j - begin].clone(), other)
@@
-    for work in works:
-        work.wait()
