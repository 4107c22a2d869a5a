# Right and wrong answers to `all_reduce_in_two_halves`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_async: passed
# differs: Both halves are started without waiting and waited for at once: the place where something could be computed meanwhile.
def padded_to(x, multiple):
    y = torch.zeros((len(x) + multiple - 1) // multiple * multiple).to(x)
    y[: len(x)].copy_(x)
    return y


def all_reduce_in_two_halves(x):
    world = dist.get_world_size()
    y = padded_to(x, world)
    own = y.view(world, -1)[0].clone()
    dist.reduce_scatter_tensor(own, y, async_op=True).wait()
    dist.all_gather_into_tensor(y, own, async_op=True).wait()
    return y.narrow(0, 0, len(x))

# %% right_lists: passed
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    size = -(-len(x) // p)
    padded = torch.zeros(size * p, dtype=x.dtype)
    padded[: len(x)] = x
    mine = torch.zeros(size, dtype=x.dtype)
    dist.reduce_scatter(mine, [c.contiguous() for c in padded.split(size)], op=dist.ReduceOp.SUM)
    everything = [torch.zeros_like(mine) for _ in range(p)]
    dist.all_gather(everything, mine)
    return torch.cat(everything)[: len(x)].clone()

# %% right_padded_tensors: passed
# differs: The vector is padded to a multiple of the ranks and cut back at the end, so that all chunks are alike.
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p, n = dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.new_empty(padded.numel() // p)
    dist.reduce_scatter_tensor(chunk, padded)
    result = torch.empty_like(padded)
    dist.all_gather_into_tensor(result, chunk)
    return result[:n]

# %% right_remainder_apart: passed
import math


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    """The part that divides first, then the rest, padded, the same way."""
    p, n = dist.get_world_size(), len(x)
    cut = n - n % p
    parts = []
    for part in (x[:cut], x[cut:]):
        if len(part) == 0:
            continue
        size = math.ceil(len(part) / p)
        room = torch.cat([part, torch.zeros(size * p - len(part), dtype=x.dtype)])
        own = torch.empty(size, dtype=x.dtype)
        dist.reduce_scatter_tensor(own, room, op=dist.ReduceOp.SUM)
        full = torch.empty(size * p, dtype=x.dtype)
        dist.all_gather_into_tensor(full, own)
        parts.append(full[: len(part)])
    return torch.cat(parts)

# %% right_single: passed
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p, n = dist.get_world_size(), len(x)
    longest = max(1, (n + p - 1) // p)
    room = x.new_zeros(p, longest)
    room.view(-1)[:n] = x
    mine = x.new_zeros(longest)
    dist.reduce_scatter_single(mine, room.view(-1))
    dist.all_gather_single(room.view(-1), mine)
    return room.flatten()[:n]

# %% wrong_always_padded: wrong, pads_for_nothing, levels 0 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:

    p, n = dist.get_world_size(), len(x)
    size = n // p + 1
    padded = x.new_zeros(p * size)
    padded[:n] = x
    chunk = x.new_empty(size)
    dist.reduce_scatter_single(chunk, padded)
    dist.all_gather_single(padded, chunk)
    return padded[:n]

# %% wrong_broadcasts_chunks: wrong, no_all_gather, levels 0 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    rank, p, n = dist.get_rank(), dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.new_empty(padded.numel() // p)
    dist.reduce_scatter_tensor(chunk, padded)
    chunks = []
    for owner in range(p):
        piece = chunk.clone() if rank == owner else torch.empty_like(chunk)
        dist.broadcast(piece, src=owner)
        chunks.append(piece)
    return torch.cat(chunks)[:n]

# %% wrong_clears_the_input_too_early (right_padded_tensors): wrong, reused_buffer, levels 0 0
-def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
+def all_reduce_in_two_halves(x):
@@
-    dist.reduce_scatter_tensor(chunk, padded)
@@
     result = torch.empty_like(padded)
+    first = dist.reduce_scatter_tensor(chunk, padded, async_op=True)
+    padded.zero_()
+    first.wait()

# %% wrong_drops_remainder: wrong, drops_remainder, levels 1 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    size = len(x) // p
    chunk = torch.empty(size, dtype=x.dtype)
    dist.reduce_scatter_tensor(chunk, x[: size * p].contiguous())
    result = torch.empty(size * p, dtype=x.dtype)
    dist.all_gather_into_tensor(result, chunk)
    return result

# %% wrong_float32 (right_padded_tensors): wrong, wrong_dtype, levels 0 0
-    padded = torch.nn.functional.pad(x, (0, -n % p))
-    chunk = padded.new_empty(padded.numel() // p)
+    size = -(-n // p)
+    padded = torch.zeros(size * p)
+    padded[:n] = x
+    chunk = torch.empty(size)
@@
-    result = torch.empty_like(padded)
+    result = torch.empty(size * p)

# %% wrong_gather_not_waited: wrong, forgot_wait, levels 0 0
def all_reduce_in_two_halves(x):
    p, n = dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.new_empty(padded.numel() // p)
    result = torch.empty_like(padded)
    dist.reduce_scatter_tensor(chunk, padded)
    dist.all_gather_into_tensor(result, chunk, async_op=True)
    return result[:n]

# %% wrong_gathers_everything: wrong, no_reduce_scatter, levels 0 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    everyone = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, x)
    return sum(everyone)

# %% wrong_gathers_unsummed: wrong, not_summed, levels 0 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    rank, p, n = dist.get_rank(), dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.chunk(p)[rank].clone()
    result = torch.empty_like(padded)
    dist.all_gather_into_tensor(result, chunk)
    dist.reduce_scatter_tensor(chunk, padded)
    return result[:n]

# %% wrong_in_place (right_padded_tensors): wrong, modifies_input, levels 0 0
-    result = torch.empty_like(padded)
-    dist.all_gather_into_tensor(result, chunk)
-    return result[:n]
+    dist.all_gather_into_tensor(padded, chunk)
+    x[:] = padded[:n]
+    return x

# %% wrong_itself_on_one_rank: wrong, not_new, levels 1 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p, n = dist.get_world_size(), len(x)
    longest = (n + p - 1) // p
    room = x if p == 1 else x.new_zeros(p * longest)
    room[:n] = x
    mine = x.new_zeros(longest)
    dist.reduce_scatter_single(mine, room)
    dist.all_gather_single(room, mine)
    return room[:n]

# %% wrong_keeps_padding (right_padded_tensors): wrong, keeps_padding, levels 1 0
-    return result[:n]
+    return result

# %% wrong_one_chunk_too_many (right_padded_tensors): wrong, keeps_padding, levels 0 0
-    padded = torch.nn.functional.pad(x, (0, -n % p))
+    padded = torch.cat([x, torch.zeros(p - n % p, dtype=x.dtype)])
@@
-    return result[:n]
+    return result

# %% wrong_own_chunk_in_place: wrong, never_gathered, levels 0 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    result = x.clone()
    chunks = list(result.chunk(p))
    mine = torch.empty_like(chunks[rank])
    dist.reduce_scatter(mine, chunks)
    chunks[rank].copy_(mine)
    return result

# %% wrong_own_chunk_only (right_padded_tensors): wrong, own_chunk_only, levels 0 0
-    result = torch.empty_like(padded)
-    dist.all_gather_into_tensor(result, chunk)
-    return result[:n]
+    return chunk

# %% wrong_reduces_twice: wrong, too_many_bytes, levels 0 0
def all_reduce_in_two_halves(x):
    p, n = dist.get_world_size(), len(x)
    padded = torch.nn.functional.pad(x, (0, -n % p))
    own = padded.new_empty(len(padded) // p)
    dist.reduce_scatter_tensor(own, padded)  # once to see whether it works
    dist.reduce_scatter_tensor(own, padded)
    dist.all_gather_into_tensor(padded, own)
    return padded[:n]

# %% wrong_remainder_is_zero: wrong, drops_remainder, levels 1 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    size = len(x) // p
    result = torch.zeros_like(x)
    chunk = torch.empty(size, dtype=x.dtype)
    dist.reduce_scatter_tensor(chunk, x[: size * p].contiguous())
    dist.all_gather_into_tensor(result[: size * p], chunk)
    return result

# %% wrong_remainder_stays_own: wrong, drops_remainder, levels 1 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    size = len(x) // p
    result = x.clone()
    if size:
        chunk = torch.empty(size, dtype=x.dtype)
        dist.reduce_scatter_tensor(chunk, x[: size * p].contiguous())
        dist.all_gather_into_tensor(result[: size * p], chunk)
    return result

# %% wrong_rest_in_own_order: wrong, ranks_differ, levels 1 0
def all_reduce_in_two_halves(x):
    rank, p, n = dist.get_rank(), dist.get_world_size(), len(x)
    cut = n - n % p
    own = torch.empty(cut // p, dtype=x.dtype)
    whole = torch.empty(cut, dtype=x.dtype)
    dist.reduce_scatter_tensor(own, x[:cut].clone())
    dist.all_gather_into_tensor(whole, own)
    if cut == n:
        return whole
    rests = [torch.empty_like(x[cut:]) for _ in range(p)]
    dist.all_gather(rests, x[cut:].clone())
    rest = x[cut:].clone()
    for q in range(p):
        if q != rank:
            rest += rests[q]
    return torch.cat([whole, rest])

# %% wrong_returns_list (right_padded_tensors): wrong, wrong_type, levels 0 0
-    result = torch.empty_like(padded)
-    dist.all_gather_into_tensor(result, chunk)
-    return result[:n]
+    gathered = [torch.empty_like(chunk) for _ in range(p)]
+    dist.all_gather(gathered, chunk)
+    return gathered

# %% wrong_returns_nothing_on_one_rank (right_async): wrong, returns_nothing, levels 1 0
     world = dist.get_world_size()
+    if world == 1:
+        return

# %% wrong_reversed: wrong, wrong_order, levels 0 0
def all_reduce_in_two_halves(x):
    p, n = dist.get_world_size(), len(x)
    s = -(-n // p)
    y = torch.zeros(p * s, dtype=x.dtype)
    y[:n] = x
    c = torch.empty(s, dtype=x.dtype)
    dist.reduce_scatter(c, list(y.chunk(p)))
    out = [torch.empty(s, dtype=x.dtype) for _ in range(p)]
    dist.all_gather(out, c)
    return torch.cat(out[::-1])[-n:]

# %% wrong_second_half_too_early: wrong, used_before_wait, levels 0 0
def all_reduce_in_two_halves(x):
    p, n = dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.new_empty(padded.numel() // p)
    result = torch.empty_like(padded)
    first = dist.reduce_scatter_tensor(chunk, padded, async_op=True)
    second = dist.all_gather_into_tensor(result, chunk, async_op=True)
    first.wait()
    second.wait()
    return result[:n]

# %% wrong_squeezed: wrong, wrong_shape, levels 1 0
# "Returns a new tensor of shape (n,)": for n = 1 the shape is ()
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    n, p = x.shape[0], dist.get_world_size()
    size = -(-n // p)
    rows = x.new_zeros(p, size)
    rows.view(-1)[:n] = x
    chunk = x.new_empty(size)
    dist.reduce_scatter_single(chunk, rows.view(-1))
    total = torch.empty_like(rows.view(-1))
    dist.all_gather_single(total, chunk)
    return total.view(1, -1)[:, :n].squeeze().clone()

# %% wrong_through_double: wrong, lost_digits, levels 0 1
def all_reduce_in_two_halves(x):
    p, n = dist.get_world_size(), len(x)
    padded = torch.zeros(n + -n % p, dtype=torch.float64)
    padded[:n] = x
    chunk = torch.empty(len(padded) // p, dtype=torch.float64)
    dist.reduce_scatter_single(chunk, padded)
    dist.all_gather_single(padded, chunk)
    return padded[:n].to(x.dtype)

# %% wrong_uneven_chunks: hung, mismatched_shape, levels 1 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    chunks = [c.clone() for c in torch.tensor_split(x, p)]
    mine = torch.empty_like(chunks[rank])
    dist.reduce_scatter(mine, chunks)
    gathered = [torch.empty_like(c) for c in chunks]
    dist.all_gather(gathered, mine)
    return torch.cat(gathered)

# %% wrong_uses_all_reduce: wrong, uses_all_reduce, levels 0 0
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total
