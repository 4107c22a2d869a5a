# Right and wrong answers to `hierarchical_all_reduce`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_all_to_all: passed
# differs: Across the nodes it exchanges pieces and adds them itself, then gathers: an all-reduce in its two halves.
import torch.nn.functional as F


def hierarchical_all_reduce(x, ranks_per_node):
    rank, p, g = dist.get_rank(), dist.get_world_size(), ranks_per_node
    N = p // g
    for k in range(N):
        one = dist.new_group(list(range(k * g, k * g + g)))
        if k == rank // g:
            inside = one
    for k in range(g):
        one = dist.new_group(list(range(k, p, g)))
        if k == rank % g:
            across = one
    n = x.numel()
    padded = F.pad(x.reshape(-1), (0, -n % p)).clone()
    chunks = list(padded.chunk(g))
    mine = torch.empty_like(chunks[0])
    dist.reduce_scatter(mine, chunks, group=inside)
    pieces = list(mine.chunk(N))
    got = [torch.empty_like(pieces[0]) for _ in range(N)]
    dist.all_to_all(got, pieces, group=across)
    total = sum(got[1:], got[0])
    dist.all_gather(pieces, total, group=across)
    dist.all_gather(chunks, mine, group=inside)
    return padded[:n].reshape(x.shape)

# %% right_gathers_parts: passed
def ring(x, ranks, first):
    me, p = ranks.index(dist.get_rank()), len(ranks)
    right, left = ranks[(me + 1) % p], ranks[(me - 1) % p]
    parts = list(x.tensor_split(p))
    for phase in first:
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


def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    node, k = divmod(r, g)
    pieces = [piece.clone() for piece in x.tensor_split(g)]
    requests, got = [], [torch.empty_like(pieces[k]) for _ in range(g)]
    for i in range(1, g):
        to, source = node * g + (k + i) % g, node * g + (k - i) % g
        requests += [dist.isend(pieces[(k + i) % g], to), dist.irecv(got[(k - i) % g], source)]
    for request in requests:
        request.wait()
    total = pieces[k] + sum(got[i] for i in range(g) if i != k)
    ring(total, list(range(k, p, g)), [0, 1])
    pieces[k], requests = total, []
    for i in range(1, g):
        to, source = node * g + (k + i) % g, node * g + (k - i) % g
        pieces[(k - i) % g] = torch.empty_like(pieces[(k - i) % g])
        requests += [dist.isend(total, to), dist.irecv(pieces[(k - i) % g], source)]
    for request in requests:
        request.wait()
    return torch.cat(pieces)

# %% right_library: passed
def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    inside, across = insides[r // g], acrosses[r % g]
    k = -(-len(x) // g)
    whole = torch.cat([x, x.new_zeros(k * g - len(x))])
    part = x.new_empty(k)
    dist.reduce_scatter_single(part, whole, group=inside)
    dist.all_reduce(part, group=across)
    dist.all_gather_single(whole, part, group=inside)
    return whole[: len(x)]

# %% right_pieces: passed
PIECES = 60


def hierarchical_all_reduce(x, ranks_per_node):
    """In pieces: while one goes across the nodes, others are reduced and gathered inside them."""
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    backs = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    inside, back, across = insides[r // g], backs[r // g], acrosses[r % g]
    size = p * max(1, -(-len(x) // (p * PIECES)))
    pieces = list(torch.cat([x, x.new_zeros(-len(x) % size)]).split(size))
    parts = [piece.new_empty(size // g) for piece in pieces]

    reduced = [
        dist.reduce_scatter_single(part, piece, group=inside, async_op=True)
        for part, piece in zip(parts, pieces, strict=True)
    ]
    crossed = []
    for part, work in zip(parts, reduced, strict=True):
        work.wait()
        crossed.append(dist.all_reduce(part, group=across, async_op=True))
    gathered = []
    for part, piece, work in zip(parts, pieces, crossed, strict=True):
        work.wait()
        gathered.append(dist.all_gather_single(piece, part, group=back, async_op=True))
    for work in gathered:
        work.wait()
    return torch.cat(pieces)[: len(x)]

# %% right_rings: passed
def ring(x, ranks, first):
    me, p = ranks.index(dist.get_rank()), len(ranks)
    right, left = ranks[(me + 1) % p], ranks[(me - 1) % p]
    parts = list(x.tensor_split(p))
    for phase in first:
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


def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    x = x.clone()
    mine = [r // g * g + i for i in range(g)]
    across = list(range(r % g, p, g))
    part = ring(x, mine, [0])
    ring(part, across, [0, 1])
    ring(x, mine, [1])
    return x

# %% wrong_across: wrong, across_only, levels 0 0 0
def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    across = acrosses[r % g]
    x = x.clone()
    dist.all_reduce(x, group=across)
    return x

# %% wrong_flat: wrong, too_much_between, levels 1 0 0
def hierarchical_all_reduce(x, ranks_per_node):
    x = x.clone()
    dist.all_reduce(x)
    return x

# %% wrong_flat_ring (right_rings): wrong, too_much_between, levels 1 0 0
-    mine = [r // g * g + i for i in range(g)]
-    across = list(range(r % g, p, g))
-    part = ring(x, mine, [0])
-    ring(part, across, [0, 1])
-    ring(x, mine, [1])
+    ring(x, list(range(p)), [0, 1])

# %% wrong_float32 (right_library): wrong, lost_digits, levels 0 0 0
     k = -(-len(x) // g)
+    dtype, x = x.dtype, x.float()
@@
-    return whole[: len(x)]
+    return whole[: len(x)].to(dtype)

# %% wrong_gathers_across: wrong, too_much_between, levels 1 0 1
def hierarchical_all_reduce(x, ranks_per_node):
    rank, p, g = dist.get_rank(), dist.get_world_size(), ranks_per_node
    inside = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)][rank // g]
    across = [dist.new_group(list(range(k, p, g))) for k in range(g)][rank % g]
    n = x.numel()
    padded = torch.cat([x.flatten(), x.new_zeros(-n % g)])
    part = padded.new_empty(len(padded) // g)
    dist.reduce_scatter_tensor(part, padded, group=inside)
    parts = [torch.empty_like(part) for _ in range(p // g)]
    dist.all_gather(parts, part, group=across)
    part = torch.stack(parts).sum(0, dtype=x.dtype)
    dist.all_gather_into_tensor(padded, part, group=inside)
    return padded[:n].view_as(x)

# %% wrong_in_float64 (right_rings): wrong, too_much_between, levels 1 0 1
     g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
+    kind, x = x.dtype, x.double() if x.is_floating_point() else x.clone()
@@
-    return x
+    return x.to(kind)

# %% wrong_in_place (right_rings): wrong, modifies_input, levels 0 0 0
-    x = x.clone()

# %% wrong_inside (right_library): wrong, inside_only, levels 0 0 0
-    dist.all_reduce(part, group=across)

# %% wrong_leaders (right_rings): wrong, idle_cards, levels 1 1 0
-    mine = [r // g * g + i for i in range(g)]
-    across = list(range(r % g, p, g))
-    part = ring(x, mine, [0])
-    ring(part, across, [0, 1])
-    ring(x, mine, [1])
+    if r % g:
+        dist.send(x, r // g * g)
+        dist.recv(x, r // g * g)
+        return x
+    got = torch.empty_like(x)
+    for i in range(1, g):
+        dist.recv(got, r + i)
+        x += got
+    ring(x, list(range(0, p, g)), [0, 1])
+    for i in range(1, g):
+        dist.send(x, r + i)

# %% wrong_leaders_library: wrong, idle_cards, levels 1 1 0
def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    inside, across = insides[r // g], acrosses[r % g]
    x = x.clone()
    dist.reduce(x, r // g * g, group=inside)
    if r % g == 0:
        dist.all_reduce(x, group=across)
    dist.broadcast(x, r // g * g, group=inside)
    return x

# %% wrong_leaders_only (right_rings): wrong, only_one_of_a_node, levels 0 0 0
-    mine = [r // g * g + i for i in range(g)]
-    across = list(range(r % g, p, g))
-    part = ring(x, mine, [0])
-    ring(part, across, [0, 1])
-    ring(x, mine, [1])
+    if r % g:
+        dist.send(x, r // g * g)
+        return x
+    got = torch.empty_like(x)
+    for i in range(1, g):
+        dist.recv(got, r + i)
+        x += got
+    ring(x, list(range(0, p, g)), [0, 1])

# %% wrong_mean (right_library): wrong, mean_for_sum, levels 0 0 0
-    return whole[: len(x)]
+    return whole[: len(x)] / p

# %% wrong_not_gathered (right_rings): wrong, not_gathered_inside, levels 0 0 0
-    ring(x, mine, [1])

# %% wrong_pieces_of_ten: wrong, too_much_between, levels 1 0 1
PIECE = 10  # elements of a rank in a piece


def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    inside, across = insides[r // g], acrosses[r % g]
    size = p * PIECE
    out = []
    for piece in torch.cat([x, x.new_zeros(-len(x) % size)]).split(size):
        piece = piece.clone()
        part = piece.new_empty(size // g)
        dist.reduce_scatter_single(part, piece, group=inside)
        dist.all_reduce(part, group=across)
        dist.all_gather_single(piece, part, group=inside)
        out.append(piece)
    return torch.cat(out)[: len(x)]

# %% wrong_placed_in_turn (right_rings): wrong, too_much_between, levels 1 0 0
-    mine = [r // g * g + i for i in range(g)]
-    across = list(range(r % g, p, g))
+    n = p // g
+    mine = list(range(r % n, p, n))
+    across = [r // n * n + i for i in range(n)]

# %% wrong_reduces_inside_whole: wrong, idle_cards, levels 1 1 0
def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    inside, across = insides[r // g], acrosses[r % g]
    x = x.clone()
    dist.all_reduce(x, group=inside)
    parts = list(x.tensor_split(g))
    part = parts[r % g].clone()
    dist.all_reduce(part, group=across)
    for k in range(g):
        piece = part if k == r % g else torch.empty_like(parts[k])
        dist.broadcast(piece, r // g * g + k, group=inside)
        parts[k].copy_(piece)
    return x

# %% wrong_short_flat (right_library): wrong, too_much_between, levels 1 0 1
     g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
+    if len(x) < 100:  # too short to be worth it: latency decides
+        x = x.clone()
+        dist.all_reduce(x)
+        return x

# %% wrong_twice: wrong, reduces_inside_twice, levels 0 0 0
def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    inside = insides[r // g]
    x = x.clone()
    dist.all_reduce(x, group=inside)
    dist.all_reduce(x)
    return x

# %% wrong_whole_across (right_rings): wrong, too_much_between, levels 1 0 0
-    part = ring(x, mine, [0])
-    ring(part, across, [0, 1])
-    ring(x, mine, [1])
+    ring(x, mine, [0, 1])
+    ring(x, across, [0, 1])

# %% wrong_wider_than_needed (right_library): wrong, too_much_between, levels 1 0 1
     g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
+    kind = x.dtype
+    if not x.is_floating_point():
+        x = x.long()  # so that nothing overflows on the way
+    elif kind in (torch.float16, torch.bfloat16):
+        x = x.float()
@@
-    return whole[: len(x)]
+    return whole[: len(x)].to(kind)

# %% wrong_without_a_rest: wrong, rest_left_out, levels 0 1 1
def hierarchical_all_reduce(x, ranks_per_node):
    rank, p, g = dist.get_rank(), dist.get_world_size(), ranks_per_node
    home, me = rank - rank % g, rank % g
    across = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    right, left = home + (me + 1) % g, home + (me - 1) % g
    out = x.clone()
    size = len(x) // g
    parts = [out[k * size : (k + 1) * size] for k in range(g)]
    for s in range(g - 1):
        send, into = (me - s - 1) % g, (me - s - 2) % g
        got = torch.empty_like(parts[into])
        sending = dist.isend(parts[send].clone(), right)
        dist.recv(got, left)
        sending.wait()
        parts[into] += got
    dist.all_reduce(parts[me], group=across[me])
    for s in range(g - 1):
        send, into = (me - s) % g, (me - s - 1) % g
        got = torch.empty_like(parts[into])
        sending = dist.isend(parts[send].clone(), right)
        dist.recv(got, left)
        sending.wait()
        parts[into].copy_(got)
    return out
