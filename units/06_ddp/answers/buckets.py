# Right and wrong answers to `buckets`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_accumulate: passed
import itertools


def buckets(sizes, first_cap, cap):
    ks = list(range(len(sizes)))[::-1]
    out, start, limit = [], 0, first_cap
    while start < len(ks):
        sums = list(itertools.accumulate(sizes[k] for k in ks[start:]))
        stop = next((i + 1 for i, s in enumerate(sums) if s >= limit), len(sums))
        out.append(ks[start : start + stop])
        start, limit = start + stop, cap
    return out

# %% right_generator: passed
def buckets(sizes, first_cap, cap):
    caps = iter([first_cap])
    bucket, room = [], first_cap
    for k in range(len(sizes) - 1, -1, -1):
        bucket.append(np.int64(k))
        room -= sizes[k]
        if room <= 0:
            yield bucket
            bucket, room = [], cap
    if bucket:
        yield bucket

# %% right_loop: passed
def buckets(sizes, first_cap, cap):
    result, current, held = [], [], 0
    for k in reversed(range(len(sizes))):
        current.append(k)
        held += sizes[k]
        if held >= (cap if result else first_cap):
            result.append(current)
            current, held = [], 0
    if current:
        result.append(current)
    return result

# %% right_opens_when_needed: passed
# differs: A bucket is opened when there is no room left in the last one, so nothing has to be closed at the end.
def buckets(sizes, first_cap, cap):
    result = []
    room = 0
    for k, size in list(enumerate(sizes))[::-1]:
        if room <= 0:
            room = cap if result else first_cap
            result.append([])
        result[-1].append(k)
        room -= size
    return result

# %% right_recursive: passed
def take(numbers, sizes, cap):
    held = 0
    for n, k in enumerate(numbers, start=1):
        held += sizes[k]
        if held >= cap:
            return numbers[:n], numbers[n:]
    return numbers, []


def buckets(sizes, first_cap, cap):
    waiting, filled = list(range(len(sizes)))[::-1], []
    while waiting:
        bucket, waiting = take(waiting, sizes, first_cap if not filled else cap)
        filled.append(tuple(bucket))
    return filled

# %% wrong_bucket_by_recursion: raised, RecursionError, levels 0 1
def buckets(sizes, first_cap, cap):
    def rest(last, limit):
        if last < 0:
            return []
        bucket, held = [], 0
        while last >= 0 and held < limit:
            bucket.append(last)
            held += sizes[last]
            last -= 1
        return [bucket, *rest(last, cap)]

    return rest(len(sizes) - 1, first_cap)

# %% wrong_buckets_turned (right_loop): wrong, other_order, levels 0 0
-    return result
+    return result[::-1]

# %% wrong_cap_strict: wrong, other_buckets, levels 0 0
def buckets(sizes, first_cap, cap):
    out, held, limit = [[]], 0, first_cap
    for k in reversed(range(len(sizes))):
        if held >= limit and len(out) == 1 or held > limit:
            out.append([])
            held, limit = 0, cap
        out[-1].append(k)
        held += sizes[k]
    return [b for b in out if b]

# %% wrong_counts_from_one: wrong, counted_from_one, levels 0 0
def buckets(sizes, first_cap, cap):
    out, held, limit = [], None, first_cap
    for k in reversed(range(len(sizes))):
        if held is None or held >= limit:
            limit = first_cap if held is None else cap
            out.append([])
            held = 0
        held += sizes[k]
        out[-1].append(k + 1)
    return out

# %% wrong_eats_sizes: wrong, modifies_input, levels 0 0
def buckets(sizes, first_cap, cap):
    out, held, limit = [], None, first_cap
    while sizes:
        if held is None or held >= limit:
            limit = first_cap if held is None else cap
            out.append([])
            held = 0
        held += sizes.pop()
        out[-1].append(len(sizes))
    return out

# %% wrong_empty_bucket (right_loop): wrong, empty_bucket, levels 0 1
-    if current:
-        result.append(current)
+    result.append(current)

# %% wrong_first_cap (right_loop): wrong, first_cap_for_all, levels 1 0
-        if held >= (cap if result else first_cap):
+        if held >= first_cap:

# %% wrong_first_cap_strict: wrong, other_buckets, levels 0 0
def buckets(sizes, first_cap, cap):
    out, held, limit = [[]], 0, first_cap
    for k in reversed(range(len(sizes))):
        if held > limit or (held == limit and len(out) > 1):
            out.append([])
            held, limit = 0, cap
        out[-1].append(k)
        held += sizes[k]
    return [b for b in out if b]

# %% wrong_first_parameter_only: wrong, one_cap, levels 1 0
# "first_cap: the first bucket is full when it holds at least so many bytes": the cap is chosen when the first
# parameter goes in and forgotten after it; wrong if the first bucket needs more than one parameter
def buckets(sizes, first_cap, cap):
    result, bucket, held = [], [], 0
    last = len(sizes) - 1
    for number in range(last, -1, -1):
        bucket.append(number)
        held += sizes[number]
        if held >= (first_cap if number == last else cap):
            result.append(bucket)
            bucket, held = [], 0
    return result + [bucket] if bucket else result

# %% wrong_float32_bytes: wrong, narrow_bytes, levels 0 1
def buckets(sizes, first_cap, cap):
    result, current, held = [], [], np.float32(0)
    for k in reversed(range(len(sizes))):
        current.append(k)
        held += np.float32(sizes[k])
        if held >= (cap if result else first_cap):
            result.append(current)
            current, held = [], np.float32(0)
    return result + [current] if current else result

# %% wrong_floats: wrong, not_integers, levels 0 0
def buckets(sizes, first_cap, cap):
    out, held, limit = [], None, first_cap
    for k in reversed(range(len(sizes))):
        if held is None or held >= limit:
            limit = first_cap if held is None else cap
            out.append([])
            held = 0
        held += sizes[k]
        out[-1].append(float(k))
    return out

# %% wrong_forgets_the_rest (right_loop): wrong, last_bucket_lost, levels 0 0
-    if current:
-        result.append(current)
+    pass

# %% wrong_forwards (right_loop): wrong, forward_order, levels 0 0
-    for k in reversed(range(len(sizes))):
+    for k in range(len(sizes)):

# %% wrong_greater (right_loop): wrong, only_above_the_cap, levels 0 0
-        if held >= (cap if result else first_cap):
+        if held > (cap if result else first_cap):

# %% wrong_leaves_out_empty: wrong, parameter_lost, levels 1 0
def buckets(sizes, first_cap, cap):
    found, full, held = [], True, 0
    for k in reversed(range(len(sizes))):
        if not sizes[k]:
            continue
        if full:
            found.append([])
            held = 0
        found[-1].append(k)
        held += sizes[k]
        full = held >= (first_cap if len(found) == 1 else cap)
    return found

# %% wrong_never_above: wrong, never_above_the_cap, levels 0 0
def buckets(sizes, first_cap, cap):
    result, held = [[]], 0
    for k in reversed(range(len(sizes))):
        limit = first_cap if len(result) == 1 else cap
        if result[-1] and held + sizes[k] > limit:
            result.append([])
            held = 0
        result[-1].append(k)
        held += sizes[k]
    return [bucket for bucket in result if bucket]

# %% wrong_no_bucket_without_bytes (right_loop): wrong, last_bucket_lost, levels 1 0
 def buckets(sizes, first_cap, cap):
+    if sum(sizes) == 0:
+        return []

# %% wrong_off_by_one (right_loop): wrong, parameter_lost, levels 0 0
-    for k in reversed(range(len(sizes))):
+    for k in range(len(sizes) - 1, 0, -1):

# %% wrong_one_cap (right_loop): wrong, one_cap, levels 1 0
-        if held >= (cap if result else first_cap):
+        if held >= cap:

# %% wrong_rest_by_its_bytes: wrong, last_bucket_lost, levels 1 0
def buckets(sizes, first_cap, cap):
    found, bucket, held, limit = [], [], 0, first_cap
    for number in reversed(range(len(sizes))):
        bucket.append(number)
        held += sizes[number]
        if held >= limit:
            found.append(bucket)
            bucket, held, limit = [], 0, cap
    if held:
        found.append(bucket)
    return found

# %% wrong_sizes (right_loop): wrong, bytes_for_numbers, levels 0 0
-    return result
+    return [[sizes[k] for k in bucket] for bucket in result]

# %% wrong_small_rest_joined: wrong, other_buckets, levels 0 0
# "The last bucket need not be full": a last bucket of less than a tenth of the cap is put into the one before it
def buckets(sizes, first_cap, cap):
    result, bucket, held = [], [], 0
    for number in range(len(sizes) - 1, -1, -1):
        bucket.append(number)
        held += sizes[number]
        if held >= (cap if result else first_cap):
            result.append(bucket)
            bucket, held = [], 0
    if bucket and result and held < cap / 10:
        result[-1] += bucket
    elif bucket:
        result.append(bucket)
    return result

# %% wrong_smaller_cap_first: wrong, caps_swapped, levels 1 0
# "first_cap: the first bucket ...; cap: the same for every other": the smaller of the two is taken for the first
# bucket, whichever it is
def buckets(sizes, first_cap, cap):
    small, large = sorted((first_cap, cap))
    result, bucket, held = [], [], 0
    for number in range(len(sizes) - 1, -1, -1):
        bucket.append(number)
        held += sizes[number]
        if held >= (large if result else small):
            result.append(bucket)
            bucket, held = [], 0
    return result + [bucket] if bucket else result

# %% wrong_sorted (right_loop): wrong, sorted_inside, levels 0 0
-    return result
+    return [sorted(bucket) for bucket in result]

# %% wrong_sorted_by_size: wrong, other_buckets, levels 0 0
def buckets(sizes, first_cap, cap):
    out, held, limit = [], None, first_cap
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        if held is None or held >= limit:
            limit = first_cap if held is None else cap
            out.append([])
            held = 0
        held += sizes[k]
        out[-1].append(k)
    return out

# %% wrong_total_not_reset: wrong, never_emptied, levels 0 0
def buckets(sizes, first_cap, cap):
    result, current, total, limit = [], [], 0, first_cap
    for i in range(len(sizes) - 1, -1, -1):
        current.append(i)
        total += sizes[i]
        if total >= limit:
            result.append(current)
            current = []
            limit = cap
    if current:
        result.append(current)
    return result

# %% wrong_total_over_cap: wrong, remainder_carried_over, levels 0 0
def buckets(sizes, first_cap, cap):
    out, held = [], 0
    for k in reversed(range(len(sizes))):
        b = 0 if held < first_cap else 1 + (held - first_cap) // cap
        while len(out) <= b:
            out.append([])
        out[b].append(k)
        held += sizes[k]
    return [b for b in out if b]

# %% wrong_turned_round (right_loop): wrong, reversed_at_the_end, levels 0 0
-    for k in reversed(range(len(sizes))):
+    for k in range(len(sizes)):
@@
-        if held >= (cap if result else first_cap):
+        if held >= cap:
@@
-    return result
+    return result[::-1]

# %% wrong_turned_round_inside (right_loop): wrong, small_bucket_last, levels 0 0
-    for k in reversed(range(len(sizes))):
+    for k in range(len(sizes)):
@@
-    return result
+    return [bucket[::-1] for bucket in result[::-1]]

# %% wrong_two_buckets: wrong, other_buckets, levels 0 0
def buckets(sizes, first_cap, cap):
    ks, held = list(range(len(sizes)))[::-1], 0
    for at, k in enumerate(ks):
        held += sizes[k]
        if held >= first_cap:
            return [b for b in (ks[: at + 1], ks[at + 1 :]) if b]
    return [ks] if ks else []
