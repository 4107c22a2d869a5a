# Right and wrong answers to `split_conv`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
import torch.nn.functional as F

# %% right_batched: passed
# differs: The halo is laid around the rows in one padded tensor, and both neighbours' messages are posted together.
def split_conv(x, weight, how):
    p, r, k = dist.get_world_size(), dist.get_rank(), weight.shape[-1]
    if how == "H":
        n, c, h, w = x.shape
        around = torch.zeros(n, c, h + k - 1, w, dtype=x.dtype)
        around[:, :, k // 2:k // 2 + h] = x
        halo = {q: torch.zeros(n, c, k // 2, w, dtype=x.dtype) for q in (r - 1, r + 1) if 0 <= q < p}
        ops = []
        for q, into in halo.items():
            edge = x[:, :, :k // 2] if q < r else x[:, :, h - k // 2:]
            ops += [dist.P2POp(dist.isend, edge.contiguous(), q), dist.P2POp(dist.irecv, into, q)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        if r > 0:
            around[:, :, :k // 2] = halo[r - 1]
        if r < p - 1:
            around[:, :, k // 2 + h:] = halo[r + 1]
        return F.conv2d(around, weight, padding=(0, k // 2))
    y = F.conv2d(x, weight, padding=k // 2)
    if how == "C_in":
        dist.all_reduce(y)
        return y
    pieces = [torch.zeros_like(y) for _ in range(p)]
    dist.all_gather(pieces, y)
    return torch.stack(pieces, 1).flatten(1, 2)

# %% right_isend: passed
def split_conv(x, weight, how):
    p, r, reach = dist.get_world_size(), dist.get_rank(), weight.shape[-1] // 2
    if how == "C_out":
        own = F.conv2d(x, weight, padding=reach)
        parts = [torch.empty_like(own) for _ in range(p)]
        dist.all_gather(parts, own)
        return torch.cat(parts, dim=1)
    if how == "C_in":
        y = F.conv2d(x, weight, padding=reach)
        dist.all_reduce(y)
        return y
    first, last = x[:, :, :reach].contiguous(), x[:, :, -reach:].contiguous()
    above, below = torch.zeros_like(first), torch.zeros_like(first)
    works = []
    if r > 0:
        works += [dist.isend(first, r - 1), dist.irecv(above, r - 1)]
    if r < p - 1:
        works += [dist.isend(last, r + 1), dist.irecv(below, r + 1)]
    for work in works:
        work.wait()
    return F.conv2d(torch.cat([above, x, below], dim=2), weight, padding=(0, reach))

# %% right_other_order: passed
def split_conv(x, weight, how):
    p, r, k = dist.get_world_size(), dist.get_rank(), weight.shape[-1]
    if how == "C_in":
        y = F.conv2d(x, weight, padding="same")
        dist.all_reduce(y)
        return y
    if how == "C_out":
        y = F.conv2d(x, weight, padding="same")
        whole = y.new_empty(p * y.shape[1], len(y), *y.shape[2:])
        dist.all_gather_into_tensor(whole, y.transpose(0, 1).contiguous())
        return whole.transpose(0, 1)
    halo = k // 2
    padded = F.pad(x, (halo, halo, halo, halo))
    rows = x.shape[2]
    side = x.new_empty(len(x), x.shape[1], halo, x.shape[3])
    for step in (0, 1):  # down, then up: even ranks send first
        to, source = (r + 1, r - 1) if step == 0 else (r - 1, r + 1)
        mine = x[:, :, rows - halo:] if step == 0 else x[:, :, :halo]
        for turn in (0, 1):
            if r % 2 == turn and 0 <= to < p:
                dist.send(mine.contiguous(), to)
            if r % 2 != turn and 0 <= source < p:
                dist.recv(side, source)
                at = slice(0, halo) if step == 0 else slice(halo + rows, None)
                padded[:, :, at, halo:-halo] = side
    return F.conv2d(padded, weight)

# %% wrong_adds_channels (right_isend): wrong, summed, levels 0 1 1
-        parts = [torch.empty_like(own) for _ in range(p)]
-        dist.all_gather(parts, own)
-        return torch.cat(parts, dim=1)
+        dist.all_reduce(own)
+        return own

# %% wrong_blocking_sends (right_isend): hung, unsafe_send, levels 1 1 0
-        works += [dist.isend(first, r - 1), dist.irecv(above, r - 1)]
+        dist.send(first, r - 1)
+        dist.recv(above, r - 1)
@@
-        works += [dist.isend(last, r + 1), dist.irecv(below, r + 1)]
+        dist.send(last, r + 1)
+        dist.recv(below, r + 1)

# %% wrong_c_in_gathers (right_isend): wrong, too_many_bytes, levels 1 0 1
-        y = F.conv2d(x, weight, padding=reach)
-        dist.all_reduce(y)
-        return y
+        whole = []
+        for t in (x, weight):
+            parts = [torch.empty_like(t) for _ in range(p)]
+            dist.all_gather(parts, t.contiguous())
+            whole.append(torch.cat(parts, 1))
+        return F.conv2d(*whole, padding=reach)

# %% wrong_c_in_own (right_isend): wrong, own_only, levels 1 0 1
-        dist.all_reduce(y)

# %% wrong_channels_in_turn: wrong, channels_in_turn, levels 0 1 1
def split_conv(x, weight, how):
    p, r, k = dist.get_world_size(), dist.get_rank(), weight.shape[-1]
    if how != "H":
        own = F.conv2d(x, weight, padding=k // 2).contiguous()
        if how == "C_in":
            dist.all_reduce(own)
            return own
        parts = [torch.empty_like(own) for _ in range(p)]
        dist.all_gather(parts, own)
        return torch.stack(parts, 2).flatten(1, 2)
    half = k // 2
    n, c, h, w = x.shape
    above, below = (x.new_zeros(n, c, half, w) for _ in range(2))
    requests = []
    if r > 0:
        requests += [dist.isend(x[:, :, :half].contiguous(), r - 1), dist.irecv(above, r - 1)]
    if r < p - 1:
        requests += [dist.isend(x[:, :, -half:].contiguous(), r + 1), dist.irecv(below, r + 1)]
    for request in requests:
        request.wait()
    return F.conv2d(torch.cat([above, x, below], 2), weight, padding=(0, half))

# %% wrong_edge_repeated: wrong, edge_repeated, levels 1 1 0
def split_conv(x, weight, how):
    p, r, k = dist.get_world_size(), dist.get_rank(), weight.shape[-1]
    if how != "H":
        own = F.conv2d(x, weight, padding=k // 2).contiguous()
        if how == "C_in":
            dist.all_reduce(own)
            return own
        parts = [torch.empty_like(own) for _ in range(p)]
        dist.all_gather(parts, own)
        return torch.cat(parts, 1)
    half = k // 2
    n, c, h, w = x.shape
    above, below = (edge.repeat(1, 1, half, 1) for edge in (x[:, :, :1], x[:, :, -1:]))
    requests = []
    if r > 0:
        requests += [dist.isend(x[:, :, :half].contiguous(), r - 1), dist.irecv(above, r - 1)]
    if r < p - 1:
        requests += [dist.isend(x[:, :, -half:].contiguous(), r + 1), dist.irecv(below, r + 1)]
    for request in requests:
        request.wait()
    return F.conv2d(torch.cat([above, x, below], 2), weight, padding=(0, half))

# %% wrong_exchanged (right_isend): wrong, halo_exchanged, levels 1 1 0
-    return F.conv2d(torch.cat([above, x, below], dim=2), weight, padding=(0, reach))
+    return F.conv2d(torch.cat([below, x, above], dim=2), weight, padding=(0, reach))

# %% wrong_far_edge (right_isend): wrong, wrong_edge, levels 1 1 0
-        works += [dist.isend(first, r - 1), dist.irecv(above, r - 1)]
+        works += [dist.isend(last, r - 1), dist.irecv(above, r - 1)]
@@
-        works += [dist.isend(last, r + 1), dist.irecv(below, r + 1)]
+        works += [dist.isend(first, r + 1), dist.irecv(below, r + 1)]

# %% wrong_float_halo (right_isend): hung, mismatched_dtype, levels 1 1 0
-    above, below = torch.zeros_like(first), torch.zeros_like(first)
+    above, below = torch.zeros(first.shape), torch.zeros(first.shape)

# %% wrong_gathers_halos (right_isend): wrong, uses_collective, levels 1 1 0
-    works = []
-    if r > 0:
-        works += [dist.isend(first, r - 1), dist.irecv(above, r - 1)]
-    if r < p - 1:
-        works += [dist.isend(last, r + 1), dist.irecv(below, r + 1)]
-    for work in works:
-        work.wait()
+    firsts, lasts = ([torch.empty_like(first) for _ in range(p)] for _ in range(2))
+    dist.all_gather(firsts, first)
+    dist.all_gather(lasts, last)
+    above = lasts[r - 1] if r else above
+    below = firsts[r + 1] if r < p - 1 else below

# %% wrong_no_halo (right_isend): wrong, halo_forgotten, levels 1 1 0
-    if r > 0:
-        works += [dist.isend(first, r - 1), dist.irecv(above, r - 1)]
-    if r < p - 1:
-        works += [dist.isend(last, r + 1), dist.irecv(below, r + 1)]

# %% wrong_not_waited (right_isend): wrong, forgot_wait, levels 1 1 0
-    for work in works:
-        work.wait()

# %% wrong_one_row (right_isend): wrong, one_row, levels 1 1 0
-    first, last = x[:, :, :reach].contiguous(), x[:, :, -reach:].contiguous()
+    first, last = x[:, :, :1].contiguous(), x[:, :, -1:].contiguous()
@@
-    return F.conv2d(torch.cat([above, x, below], dim=2), weight, padding=(0, reach))
+    return F.conv2d(torch.cat([above, x, below], dim=2), weight, padding=(reach - 1, reach))

# %% wrong_padding_of_one (right_isend): wrong, wrong_shape, levels 0 1 1
-    p, r, reach = dist.get_world_size(), dist.get_rank(), weight.shape[-1] // 2
+    p, r = dist.get_world_size(), dist.get_rank()
@@
-        own = F.conv2d(x, weight, padding=reach)
+        own = F.conv2d(x, weight, padding=1)
@@
         return torch.cat(parts, dim=1)
+    reach = weight.shape[-1] // 2

# %% wrong_ring (right_isend): wrong, halo_round_the_ring, levels 1 1 0
-    if r > 0:
-        works += [dist.isend(first, r - 1), dist.irecv(above, r - 1)]
-    if r < p - 1:
-        works += [dist.isend(last, r + 1), dist.irecv(below, r + 1)]
+    works += [dist.isend(first, (r - 1) % p, tag=1), dist.irecv(above, (r - 1) % p, tag=2)]
+    works += [dist.isend(last, (r + 1) % p, tag=2), dist.irecv(below, (r + 1) % p, tag=1)]

# %% wrong_stacked_images (right_isend): wrong, wrong_order, levels 0 1 1
-        return torch.cat(parts, dim=1)
+        return torch.cat(parts, dim=0).reshape(len(x), -1, *own.shape[2:])

# %% wrong_whole_neighbours: wrong, too_many_bytes, levels 1 1 0
def split_conv(x, weight, how):
    p, r, reach = dist.get_world_size(), dist.get_rank(), weight.shape[-1] // 2
    y = F.conv2d(x, weight, padding=reach)
    if how == "C_out":
        parts = [torch.empty_like(y) for _ in range(p)]
        dist.all_gather(parts, y)
        return torch.cat(parts, dim=1)
    if how == "C_in":
        dist.all_reduce(y)
        return y
    halo = torch.zeros(2, *x[:, :, :reach].shape, dtype=x.dtype)
    mine = torch.stack([x[:, :, :reach], x[:, :, -reach:]])
    works = []
    for side, other in enumerate((r - 1, r + 1)):
        if 0 <= other < p:
            both = torch.empty_like(mine)
            works.append((side, both, dist.isend(mine, other), dist.irecv(both, other)))
    for side, both, sent, got in works:
        sent.wait()
        got.wait()
        halo[side] = both[1 - side]
    return F.conv2d(torch.cat([halo[0], x, halo[1]], 2), weight, padding=(0, reach))
