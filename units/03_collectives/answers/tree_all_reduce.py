# Right and wrong answers to `tree_all_reduce`. In files of their own: autograder bank --write DIR
import math
import torch
import torch.distributed as dist

# %% right_binomial: passed
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    distance = 1
    while distance < p:
        if rank % (2 * distance) == distance:
            dist.send(total, dst=rank - distance)
            break
        if rank + distance < p:
            dist.recv(arrived, src=rank + distance)
            total += arrived
        distance *= 2
    while distance >= 1:  # the same way back, down from the root
        if rank % (2 * distance) == distance:
            dist.recv(total, src=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.send(total, dst=rank + distance)
        distance //= 2
    return total

# %% right_both_children_at_once: passed
def tree_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    children = [c for c in (2 * rank + 1, 2 * rank + 2) if c < p]
    parent = (rank - 1) // 2
    total = x.clone()
    boxes = [torch.empty_like(x) for _ in children]
    requests = [dist.irecv(box, src=child) for box, child in zip(boxes, children)]
    for box, request in zip(boxes, requests):
        request.wait()
        total += box
    if rank != 0:
        dist.isend(total, parent).wait()
        dist.recv(total, parent)
    for child in children:
        dist.send(total, child)
    return total

# %% right_halves_swap: passed
def combine(t, lo, hi):
    """all ranks lo..hi-1 end with their sum; divide and conquer by swapping"""
    if hi - lo == 1:
        return t
    mid = (lo + hi) // 2
    r = dist.get_rank()
    t = combine(t, lo, mid) if r < mid else combine(t, mid, hi)
    left, right = mid - lo, hi - mid
    b = torch.empty_like(t)
    if r < mid:
        w = dist.isend(t, mid + (r - lo))
        dist.recv(b, mid + (r - lo))
        w.wait()
        if r == lo and right > left:
            dist.send(t, hi - 1)
        return t + b
    if r - mid < left:
        w = dist.isend(t, lo + r - mid)
        dist.recv(b, lo + r - mid)
        w.wait()
    else:
        dist.recv(b, lo)
    return t + b


def tree_all_reduce(x):
    return combine(x.clone(), 0, dist.get_world_size())

# %% right_heap: passed
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """A binary tree: the children of rank r are 2 r + 1 and 2 r + 2."""
    rank, p = dist.get_rank(), dist.get_world_size()
    children = [c for c in (2 * rank + 1, 2 * rank + 2) if c < p]
    parent = (rank - 1) // 2
    total = x.clone()
    for child in children:
        box = torch.empty_like(x)
        dist.recv(box, src=child)
        total = total + box
    if rank != 0:
        dist.send(total, parent)
        dist.recv(total, parent)
    for child in children:
        dist.send(total, child)
    return total

# %% right_last_rank_is_the_root: passed
# differs: The ranks are numbered from the other end, so that the last one is the root: any rank can be.
def tree_all_reduce(x):
    """root is the last rank"""
    p = dist.get_world_size()
    v = p - 1 - dist.get_rank()
    real = lambda k: p - 1 - k
    t = x.clone()
    d = 1
    while d < p and v % (2 * d) == 0:
        if v + d < p:
            b = torch.empty_like(x)
            dist.recv(b, real(v + d))
            t = t + b
        d *= 2
    if v:
        dist.send(t, real(v - d))
        dist.recv(t, real(v - d))
    d //= 2
    while d:
        if v + d < p:
            dist.send(t, real(v + d))
        d //= 2
    return t

# %% right_log2: passed
def tree_all_reduce(x):
    me, p = dist.get_rank(), dist.get_world_size()
    steps = math.ceil(math.log2(p))
    acc = x.detach().clone()
    buf = torch.zeros_like(acc)
    for k in range(steps):
        if me % 2**k == 0:
            if (me >> k) & 1:
                dist.isend(acc, me - 2**k).wait()
            elif me + 2**k < p:
                dist.irecv(buf, me + 2**k).wait()
                acc.add_(buf)
    for k in reversed(range(steps)):
        if me % 2**k == 0:
            if (me >> k) & 1:
                dist.recv(acc, me - 2**k)
            elif me + 2**k < p:
                dist.send(acc, me + 2**k)
    return acc

# %% right_recursive: passed
def reduce_range(total, first, last):
    """Sum over ranks first .. last - 1, left on rank first; then back again."""
    rank = dist.get_rank()
    if last - first == 1:
        return
    middle = (first + last + 1) // 2
    if rank < middle:
        reduce_range(total, first, middle)
    else:
        reduce_range(total, middle, last)
    if rank == first:
        other = torch.empty_like(total)
        dist.recv(other, src=middle)
        total += other
    elif rank == middle:
        dist.send(total, dst=first)


def broadcast_range(total, first, last):
    rank = dist.get_rank()
    if last - first == 1:
        return
    middle = (first + last + 1) // 2
    if rank == first:
        dist.send(total, dst=middle)
    elif rank == middle:
        dist.recv(total, src=first)
    if rank < middle:
        broadcast_range(total, first, middle)
    else:
        broadcast_range(total, middle, last)


def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    broadcast_range_from = 0
    reduce_range(total, broadcast_range_from, dist.get_world_size())
    broadcast_range(total, broadcast_range_from, dist.get_world_size())
    return total

# %% right_recursive_doubling: passed
# differs: No root: in every round pairs exchange and both add, so everybody has the sum after half of the steps.
def exchange(value, partner):
    other = torch.empty_like(value)
    work = dist.isend(value, partner)
    dist.recv(other, partner)
    work.wait()
    return value + other


def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    core = 2 ** (p.bit_length() - 1)  # the largest power of two that is not above p
    total = x.clone()
    if rank >= core:  # the surplus ranks hand over, and wait for the answer
        dist.send(total, rank - core)
        dist.recv(total, rank - core)
        return total
    if rank + core < p:
        arrived = torch.empty_like(total)
        dist.recv(arrived, rank + core)
        total += arrived
    distance = 1
    while distance < core:
        total = exchange(total, rank ^ distance)
        distance *= 2
    if rank + core < p:
        dist.send(total, rank + core)
    return total

# %% wrong_adds_on_the_way_down (right_binomial): wrong, counted_twice, levels 0 0 0
-    while distance >= 1:  # the same way back, down from the root
+    while distance >= 1:
@@
-            dist.recv(total, src=rank - distance)
+            dist.recv(arrived, src=rank - distance)
+            total += arrived

# %% wrong_all_to_all: wrong, bottleneck, levels 1 1 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
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

# %% wrong_chain: wrong, too_many_steps, levels 1 1 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    if rank < p - 1:
        dist.recv(arrived, src=rank + 1)
        total += arrived
    if rank > 0:
        dist.send(total, dst=rank - 1)
        dist.recv(total, src=rank - 1)
    if rank < p - 1:
        dist.send(total, dst=rank + 1)
    return total

# %% wrong_changes_what_is_being_sent: wrong, reused_buffer, levels 0 0 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    distance = 1
    while distance < p:
        partner = rank ^ distance
        if partner < p:
            work = dist.isend(total, partner)
            dist.recv(arrived, partner)
            total += arrived
            work.wait()
        distance *= 2
    return total

# %% wrong_exchanges_blocking: hung, unsafe_send, levels 0 0 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    distance = 1
    while distance < p:
        partner = rank ^ distance
        if partner < p:
            dist.send(total, partner)
            dist.recv(arrived, partner)
            total += arrived
        distance *= 2
    return total

# %% wrong_extra_ranks_to_rank_0: wrong, bottleneck, levels 1 1 0
def tree_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    core = 1 << (p.bit_length() - 1)  # the largest power of two
    if rank >= core:
        dist.send(total, 0)
        dist.recv(total, 0)
        return total
    if rank == 0:
        for extra in range(core, p):
            dist.recv(arrived, extra)
            total += arrived
    distance = 1
    while distance < core:
        partner = rank ^ distance
        work = dist.isend(total.clone(), partner)
        dist.recv(arrived, partner)
        work.wait()
        total += arrived
        distance *= 2
    if rank == 0:
        for extra in range(core, p):
            dist.send(total, extra)
    return total

# %% wrong_in_place: wrong, modifies_input, levels 0 0 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    distance = 1
    while distance < p:
        if rank % (2 * distance) == distance:
            dist.send(x, dst=rank - distance)
            break
        if rank + distance < p:
            dist.recv(arrived, src=rank + distance)
            x += arrived
        distance *= 2
    while distance >= 1:
        if rank % (2 * distance) == distance:
            dist.recv(x, src=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.send(x, dst=rank + distance)
        distance //= 2
    return x

# %% wrong_isend_down_never_waited (right_heap): wrong, forgot_wait, levels 0 0 0
-def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
-    """A binary tree: the children of rank r are 2 r + 1 and 2 r + 2."""
+def tree_all_reduce(x):
@@
-        total = total + box
+        total += box
@@
-        dist.send(total, child)
+        dist.isend(total, child)

# %% wrong_isend_up_never_waited (right_heap): wrong, forgot_wait, levels 0 0 0
-def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
-    """A binary tree: the children of rank r are 2 r + 1 and 2 r + 2."""
+def tree_all_reduce(x):
@@
-        total = total + box
+        total += box
@@
-        dist.send(total, parent)
+        dist.isend(total, parent)

# %% wrong_itself_on_one_rank (right_log2): wrong, not_new, levels 1 0 1
     me, p = dist.get_rank(), dist.get_world_size()
+    if p == 1:
+        return x

# %% wrong_log2_rounded_down: wrong, powers_of_two_only, levels 1 0 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    steps = int(math.log2(p))
    for k in range(steps):
        if rank % 2 ** (k + 1) == 2**k:
            dist.send(total, rank - 2**k)
            break
        if rank % 2 ** (k + 1) == 0 and rank + 2**k < p:
            dist.recv(arrived, rank + 2**k)
            total += arrived
    for k in reversed(range(steps)):
        if rank % 2 ** (k + 1) == 2**k:
            dist.recv(total, rank - 2**k)
        elif rank % 2 ** (k + 1) == 0 and rank + 2**k < p:
            dist.send(total, rank + 2**k)
    return total

# %% wrong_no_way_back (right_binomial): wrong, only_one_rank, levels 0 0 0
-    while distance >= 1:  # the same way back, down from the root
-        if rank % (2 * distance) == distance:
-            dist.recv(total, src=rank - distance)
-        elif rank % (2 * distance) == 0 and rank + distance < p:
-            dist.send(total, dst=rank + distance)
-        distance //= 2

# %% wrong_one_box_for_both_children (right_both_children_at_once): wrong, used_before_wait, levels 0 0 0
-    boxes = [torch.empty_like(x) for _ in children]
-    requests = [dist.irecv(box, src=child) for box, child in zip(boxes, children)]
-    for box, request in zip(boxes, requests):
+    box = torch.empty_like(x)
+    for request in [dist.irecv(box, src=child) for child in children]:
@@
-        dist.isend(total, parent).wait()
+        dist.send(total, parent)

# %% wrong_one_extra_rank_only: raised, ValueError, levels 1 0 0
def tree_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    core = p - 1 if p > 1 and p % 2 else p  # an odd rank out brings its numbers to rank 0
    if rank == core:
        dist.send(total, 0)
        dist.recv(total, 0)
        return total
    if rank == 0 and core < p:
        dist.recv(arrived, core)
        total += arrived
    distance = 1
    while distance < core:
        partner = rank ^ distance
        work = dist.isend(total.clone(), partner)
        dist.recv(arrived, partner)
        work.wait()
        total += arrived
        distance *= 2
    if rank == 0 and core < p:
        dist.send(total, core)
    return total

# %% wrong_order_of_its_own: wrong, ranks_differ, levels 1 1 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    arrived = torch.empty_like(total)
    step = 1
    if p & (p - 1) == 0:
        while step < p:
            outgoing = total.clone()
            request = dist.isend(outgoing, dst=(rank + step) % p)
            dist.recv(arrived, src=(rank - step) % p)
            request.wait()
            total += arrived
            step *= 2
        return total
    while step < p:
        if rank % (2 * step) == step:
            dist.send(total, dst=rank - step)
        elif rank % (2 * step) == 0 and rank + step < p:
            dist.recv(arrived, src=rank + step)
            total += arrived
        step *= 2
    while step > 1:
        step //= 2
        if rank % (2 * step) == step:
            dist.recv(total, src=rank - step)
        elif rank % (2 * step) == 0 and rank + step < p:
            dist.send(total, dst=rank + step)
    return total

# %% wrong_order_of_its_own_if_odd: wrong, ranks_differ, levels 1 1 0
def tree_all_reduce(x):
    """Each rank gathers all rows in ceil(log2 p) steps (Bruck), and adds them up from its own on."""
    rank, p = dist.get_rank(), dist.get_world_size()
    if p & (p - 1) == 0:
        total, arrived, distance = x.clone(), torch.empty_like(x), 1
        while distance < p:
            partner = rank ^ distance
            work = dist.isend(total.clone(), partner)
            dist.recv(arrived, partner)
            work.wait()
            total += arrived
            distance *= 2
        return total
    rows, distance = x.clone().unsqueeze(0), 1
    while distance < p:
        count = min(distance, p - distance)
        arrived = torch.empty_like(rows[:count])
        work = dist.isend(rows[:count].contiguous(), (rank - distance) % p)
        dist.recv(arrived, (rank + distance) % p)
        work.wait()
        rows = torch.cat([rows, arrived])
        distance *= 2
    return rows.sum(0, dtype=x.dtype)

# %% wrong_partner_does_not_exist: raised, ValueError, levels 1 0 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    distance = 1
    while distance < p:
        partner = rank ^ distance
        work = dist.isend(total.clone(), partner)
        dist.recv(arrived, partner)
        work.wait()
        total += arrived
        distance *= 2
    return total

# %% wrong_passes_round: wrong, too_many_messages, levels 1 1 0
def tree_all_reduce(x):
    r, p = dist.get_rank(), dist.get_world_size()
    t, m = x.clone(), x
    for _ in range(p - 1):
        b = torch.empty_like(x)
        w = dist.isend(m, (r + 1) % p)
        dist.recv(b, (r - 1) % p)
        w.wait()
        t += b
        m = b
    return t

# %% wrong_powers_of_two: wrong, powers_of_two_only, levels 1 0 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    distance = 1
    while distance < p:
        partner = rank ^ distance
        if partner < p:
            work = dist.isend(total.clone(), partner)
            dist.recv(arrived, partner)
            work.wait()
            total += arrived
        distance *= 2
    return total

# %% wrong_scalar_gets_axis: wrong, wrong_shape, levels 1 0 1
# a 0-dimensional x comes back with shape (1,)
def tree_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = torch.atleast_1d(x).clone(), torch.empty_like(torch.atleast_1d(x))
    distances = [2**step for step in range(math.ceil(math.log2(p)))]
    for distance in distances:
        if rank % (2 * distance) == distance:
            dist.send(total, dst=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.recv(arrived, src=rank + distance)
            total += arrived
    for distance in reversed(distances):
        if rank % (2 * distance) == distance:
            dist.recv(total, src=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.send(total, dst=rank + distance)
    return total

# %% wrong_star: wrong, bottleneck, levels 1 1 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
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

# %% wrong_star_if_not_power_of_two: wrong, bottleneck, levels 1 1 0
def tree_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    if p & (p - 1) == 0:
        distance = 1
        while distance < p:
            partner = rank ^ distance
            work = dist.isend(total.clone(), partner)
            dist.recv(arrived, partner)
            work.wait()
            total += arrived
            distance *= 2
        return total
    if rank == 0:
        for other in range(1, p):
            dist.recv(arrived, other)
            total += arrived
        for other in range(1, p):
            dist.send(total, other)
    else:
        dist.send(total, 0)
        dist.recv(total, 0)
    return total

# %% wrong_through_int32: wrong, wrapped, levels 1 0 0
def tree_all_reduce(x):
    """Up and down a binomial tree, in int32 where x holds integers."""
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone() if x.is_floating_point() else x.to(torch.int32, copy=True)
    arrived, distance, parents = torch.empty_like(total), 1, []
    while distance < p:
        if rank & distance:
            dist.send(total, rank - distance)
            dist.recv(total, rank - distance)
            break
        if rank + distance < p:
            dist.recv(arrived, rank + distance)
            total += arrived
            parents.append(rank + distance)
        distance *= 2
    for child in reversed(parents):
        dist.send(total, child)
    return total.to(x.dtype)

# %% wrong_tree_up_star_down (right_binomial): wrong, bottleneck, levels 1 1 0
-    while distance >= 1:  # the same way back, down from the root
-        if rank % (2 * distance) == distance:
-            dist.recv(total, src=rank - distance)
-        elif rank % (2 * distance) == 0 and rank + distance < p:
-            dist.send(total, dst=rank + distance)
-        distance //= 2
+    if rank == 0:
+        for other in range(1, p):
+            dist.send(total, other)
+    else:
+        dist.recv(total, 0)

# %% wrong_uses_all_reduce: wrong, uses_all_reduce, levels 0 0 0
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total

# %% wrong_uses_broadcast (right_binomial): wrong, uses_collective, levels 0 0 0
-    while distance >= 1:  # the same way back, down from the root
-        if rank % (2 * distance) == distance:
-            dist.recv(total, src=rank - distance)
-        elif rank % (2 * distance) == 0 and rank + distance < p:
-            dist.send(total, dst=rank + distance)
-        distance //= 2
+    dist.broadcast(total, src=0)

# %% wrong_zeros_on_one_rank (right_binomial): wrong, rank_0_left_out, levels 1 0 1
     rank, p = dist.get_rank(), dist.get_world_size()
+    if p == 1:
+        return torch.zeros_like(x)
