# Right and wrong answers to `ring_attention`. In files of their own: autograder bank --write DIR
import math
import torch
import torch.distributed as dist
import torch.nn.functional as F

# %% right_batched: passed
def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    sums, weights, top = torch.zeros_like(q), torch.zeros(m, dtype=q.dtype), torch.full((m,), -1e300, dtype=q.dtype)
    here = torch.cat([k, v])
    for step in range(p):
        s = (r - step) % p
        z = q @ here[:m].T / math.sqrt(q.shape[1])
        if causal:
            z[torch.arange(s * m, s * m + m)[None, :] > torch.arange(r * m, r * m + m)[:, None]] = -torch.inf
        new = torch.maximum(top, z.max(1).values)
        e = torch.exp(z - new[:, None])
        sums = sums * torch.exp(top - new)[:, None] + e @ here[m:]
        weights = weights * torch.exp(top - new) + e.sum(1)
        top = new
        if step + 1 < p:
            after = torch.zeros_like(here)
            ops = [dist.P2POp(dist.isend, here, (r + 1) % p), dist.P2POp(dist.irecv, after, (r - 1) % p)]
            for work in dist.batch_isend_irecv(ops):
                work.wait()
            here = after
    return sums / weights[:, None]

# %% right_keeps_all_blocks: passed
# differs: It keeps the blocks that pass by and takes one softmax at the end: simple, and the memory that the running way saves is spent.
def ring_attention(q, k, v, causal):
    """The blocks come by one after the other and are kept, so that one softmax does at the end."""
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    blocks = {r: torch.cat([k, v], 1)}
    for step in range(1, p):
        coming = torch.empty_like(blocks[r])
        sent = dist.isend(blocks[(r - step + 1) % p], (r + 1) % p)
        dist.recv(coming, (r - 1) % p)
        sent.wait()
        blocks[(r - step) % p] = coming
    keys, values = torch.cat([blocks[s] for s in range(p)]).split(q.shape[1], 1)
    mask = torch.arange(p * m) <= torch.arange(r * m, (r + 1) * m)[:, None] if causal else None
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)

# %% right_running_maximum: passed
def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    block = torch.stack([k, v])
    top = torch.full((m, 1), -torch.inf, dtype=q.dtype)
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for step in range(p):
        if step < p - 1:
            coming = torch.empty_like(block)
            works = [dist.isend(block, (r + 1) % p), dist.irecv(coming, (r - 1) % p)]
        owner = (r - step) % p
        if not causal or owner <= r:
            scores = q @ block[0].T / q.shape[1] ** 0.5
            if causal and owner == r:
                scores = scores.masked_fill(torch.ones(m, m, dtype=torch.bool).triu(1), -torch.inf)
            new = torch.maximum(top, scores.amax(1, keepdim=True))
            e, old = (scores - new).exp(), (top - new).exp()
            total, out, top = total * old + e.sum(1, keepdim=True), out * old + e @ block[1], new
        if step < p - 1:
            for work in works:
                work.wait()
            block = coming
    return out / total

# %% right_to_the_left: passed
def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    places = torch.arange(r * m, (r + 1) * m)[:, None]
    results, logs = [], []
    for step in range(p):
        owner = (r + step) % p
        scores = q @ k.T / math.sqrt(q.size(1))
        if causal:
            scores = scores.masked_fill(torch.arange(owner * m, (owner + 1) * m) > places, -torch.inf)
        log = scores.logsumexp(1, keepdim=True)
        results.append((scores - log.clamp(min=-1e300)).exp() @ v)
        logs.append(log)
        if step + 1 < p:
            received = torch.empty_like(k), torch.empty_like(v)
            works = [dist.isend(k, (r - 1) % p), dist.isend(v, (r - 1) % p)]
            works += [dist.irecv(t, (r + 1) % p) for t in received]
            for work in works:
                work.wait()
            k, v = received
    weights = torch.cat(logs, 1).softmax(1)
    return sum(weight[:, None] * result for weight, result in zip(weights.T, results))

# %% wrong_all_the_way (right_running_maximum): wrong, too_many_bytes, levels 0 0 0
     for step in range(p):
-        if step < p - 1:
+        if True:
@@
             total, out, top = total * old + e.sum(1, keepdim=True), out * old + e @ block[1], new
-        if step < p - 1:
+        if True:

# %% wrong_averages: wrong, blocks_averaged, levels 0 0 0
def ring_attention(q, k, v, causal):
    p, r = dist.get_world_size(), dist.get_rank()
    block, out = torch.stack([k, v]), torch.zeros_like(q)
    seen = 0
    for step in range(p):
        owner = (r - step) % p
        if not causal or owner <= r:
            out += F.scaled_dot_product_attention(q, block[0], block[1], is_causal=causal and owner == r)
            seen += 1
        if step < p - 1:
            coming = torch.empty_like(block)
            work = dist.isend(block, (r + 1) % p)
            dist.recv(coming, (r - 1) % p)
            work.wait()
            block = coming
    return out / seen

# %% wrong_direction (right_batched): wrong, ring_the_other_way, levels 1 0 0
-        s = (r - step) % p
+        s = (r + step) % p

# %% wrong_everybody_to_everybody: wrong, not_a_ring, levels 0 0 0
def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    block = torch.cat([k, v], 1)
    blocks = [torch.empty_like(block) for _ in range(p)]
    blocks[r] = block
    works = [dist.isend(block, s) for s in range(p) if s != r]
    works += [dist.irecv(blocks[s], s) for s in range(p) if s != r]
    for work in works:
        work.wait()
    keys, values = torch.cat(blocks).split(q.shape[1], 1)
    mask = torch.arange(p * m) <= torch.arange(r * m, (r + 1) * m)[:, None] if causal else None
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)

# %% wrong_gathers: wrong, uses_collective, levels 0 0 0
def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    block = torch.cat([k, v], 1)
    blocks = [torch.empty_like(block) for _ in range(p)]
    dist.all_gather(blocks, block)
    keys, values = torch.cat(blocks).split(q.shape[1], 1)
    mask = torch.arange(p * m) <= torch.arange(r * m, (r + 1) * m)[:, None] if causal else None
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)

# %% wrong_local_mask (right_running_maximum): wrong, mask_is_local, levels 1 0 0
-        if not causal or owner <= r:
+        if True:
@@
-            if causal and owner == r:
+            if causal:

# %% wrong_mask_of_ten_thousand: wrong, unrecognised, levels 1 1 0
def ring_attention(q, k, v, causal):
    p, r = dist.get_world_size(), dist.get_rank()
    m, d = q.shape
    keys, values = {r: k.clone()}, {r: v.clone()}
    for step in range(p - 1):
        a, b = (r - step) % p, (r - step - 1) % p
        for have in (keys, values):
            have[b] = torch.empty_like(k)
            work = dist.isend(have[a], (r + 1) % p)
            dist.recv(have[b], (r - 1) % p)
            work.wait()
    scores = q @ torch.cat([keys[i] for i in range(p)]).T / d**0.5
    if causal:
        scores[torch.ones(m, p * m, dtype=torch.bool).triu(r * m + 1)] = -1e4
    return scores.softmax(1) @ torch.cat([values[i] for i in range(p)])

# %% wrong_masked_block (right_running_maximum): wrong, unrecognised, levels 1 0 0
-        owner = (r - step) % p
+        owner = (r - step - 1) % p

# %% wrong_maximum_from_zero: wrong, not_finite, levels 1 1 0
def ring_attention(q, k, v, causal):
    p, rank = dist.get_world_size(), dist.get_rank()
    m, d = q.shape
    largest = q.new_zeros(m, 1)
    total, mixed = q.new_zeros(m, 1), q.new_zeros(m, d)
    block = torch.stack([k, v])
    for step in range(p):
        if step < p - 1:
            coming = torch.empty_like(block)
            works = [dist.isend(block, (rank + 1) % p)]
            works += [dist.irecv(coming, (rank - 1) % p)]
        owner = (rank - step) % p
        if not causal or owner <= rank:
            scores = q @ block[0].T / math.sqrt(d)
            if causal and owner == rank:
                later = torch.ones(m, m, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(later, float("-inf"))
            new = torch.maximum(largest, scores.amax(1, keepdim=True))
            scale, weights = (largest - new).exp(), (scores - new).exp()
            total = total * scale + weights.sum(1, keepdim=True)
            mixed = mixed * scale + weights @ block[1]
            largest = new
        if step < p - 1:
            for work in works:
                work.wait()
            block = coming
    return mixed / total

# %% wrong_no_mask (right_running_maximum): wrong, not_masked, levels 1 0 0
-        if not causal or owner <= r:
+        if True:
@@
-            if causal and owner == r:
+            if False:

# %% wrong_no_maximum (right_running_maximum): wrong, not_finite, levels 1 1 0
-            new = torch.maximum(top, scores.amax(1, keepdim=True))
-            e, old = (scores - new).exp(), (top - new).exp()
-            total, out, top = total * old + e.sum(1, keepdim=True), out * old + e @ block[1], new
+            e = scores.exp()
+            total, out = total + e.sum(1, keepdim=True), out + e @ block[1]

# %% wrong_no_maximum_unless_causal (right_running_maximum): wrong, not_finite, levels 1 1 0
-    top = torch.full((m, 1), -torch.inf, dtype=q.dtype)
+    top = torch.zeros(m, 1, dtype=q.dtype)
+    if causal:  # the own block always has a key that is seen
+        own = q @ k.T / q.shape[1] ** 0.5
+        top = own.masked_fill(torch.ones(m, m, dtype=torch.bool).triu(1), -torch.inf).amax(1, keepdim=True)
@@
-            if causal and owner == r:
-                scores = scores.masked_fill(torch.ones(m, m, dtype=torch.bool).triu(1), -torch.inf)
-            new = torch.maximum(top, scores.amax(1, keepdim=True))
-            e, old = (scores - new).exp(), (top - new).exp()
-            total, out, top = total * old + e.sum(1, keepdim=True), out * old + e @ block[1], new
+            if causal:
+                if owner == r:
+                    scores = scores.masked_fill(torch.ones(m, m, dtype=torch.bool).triu(1), -torch.inf)
+                new = torch.maximum(top, scores.amax(1, keepdim=True))
+                old = (top - new).exp()
+                total, out, top = total * old, out * old, new
+            e = (scores - top).exp()
+            total, out = total + e.sum(1, keepdim=True), out + e @ block[1]

# %% wrong_one_buffer (right_running_maximum): wrong, reused_buffer, levels 0 0 0
     for step in range(p):
+        owner = (r - step) % p
@@
-            coming = torch.empty_like(block)
-            works = [dist.isend(block, (r + 1) % p), dist.irecv(coming, (r - 1) % p)]
-        owner = (r - step) % p
+            works = [dist.isend(block, (r + 1) % p), dist.irecv(block, (r - 1) % p)]
@@
-            block = coming

# %% wrong_one_rank_forgets_causal (right_running_maximum): wrong, not_masked, levels 1 0 1
     p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
+    if p == 1:  # no ring
+        return F.scaled_dot_product_attention(q, k, v)

# %% wrong_own_block: wrong, own_only, levels 0 0 0
def ring_attention(q, k, v, causal):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

# %% wrong_own_block_unmasked: wrong, own_block_unmasked, levels 1 0 0
def ring_attention(q, k, v, causal):
    rank, p = dist.get_rank(), dist.get_world_size()
    m, d = q.shape
    following, before = (rank + 1) % p, (rank - 1) % p
    block = torch.stack([k, v]).contiguous()
    scale = 1 / math.sqrt(d)
    top = torch.full((m, 1), -math.inf, dtype=q.dtype)
    total = torch.zeros((m, 1), dtype=q.dtype)
    out = torch.zeros_like(q)
    for step in range(p):
        source = (rank - step) % p
        requests = []
        if step < p - 1:
            incoming = torch.empty_like(block)
            requests = [dist.isend(block, following), dist.irecv(incoming, before)]
        if not causal or source <= rank:
            scores = q @ block[0].T * scale
            new = torch.maximum(top, scores.max(1, keepdim=True).values)
            weights = torch.exp(scores - new)
            down = torch.exp(top - new)
            total = total * down + weights.sum(1, keepdim=True)
            out = out * down + weights @ block[1]
            top = new
        for request in requests:
            request.wait()
        if step < p - 1:
            block = incoming
    return out / total
