# Right and wrong answers to `evaluate_padded`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_places: passed
def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    places = rank + p * torch.arange(len(indices))
    correct = ((predictions == labels) & (places < n)).sum()
    dist.all_reduce(correct)
    return correct.item() / n

# %% right_slices: passed
# differs: Each rank knows how many of its samples are real, by the length of a range, and looks at no others.
def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    mine = len(range(rank, n, p))
    sums = torch.tensor([(predictions[:mine] == labels[:mine]).sum().item(), mine], dtype=torch.float64)
    dist.all_reduce(sums)
    return float(sums[0] / sums[1])

# %% wrong_all (right_places): wrong, counts_padding, levels 0 0 0
-    correct = ((predictions == labels) & (places < n)).sum()
+    correct = (predictions == labels).sum()
+    count = torch.tensor(len(labels))
@@
-    return correct.item() / n
+    dist.all_reduce(count)
+    return correct.item() / count.item()

# %% wrong_by_index (right_places): wrong, by_index, levels 0 0 0
-    correct = ((predictions == labels) & (places < n)).sum()
+    correct = ((predictions == labels) & (indices % p == rank)).sum()

# %% wrong_counts_in_16_bits (right_places): wrong, counts_wrap, levels 1 1 0
-    correct = ((predictions == labels) & (places < n)).sum()
+    correct = ((predictions == labels) & (places < n)).sum().to(torch.int16)

# %% wrong_counts_in_a_byte: wrong, counts_wrap, levels 1 1 0
def evaluate_padded(predictions, labels, indices, n):
    mine = len(range(dist.get_rank(), n, dist.get_world_size()))
    right = (predictions[:mine] == labels[:mine]).sum(dtype=torch.uint8)
    dist.all_reduce(right)
    return right.item() / n

# %% wrong_drops_last_if_even (right_places): wrong, drops_if_even, levels 0 1 1
-    places = rank + p * torch.arange(len(indices))
-    correct = ((predictions == labels) & (places < n)).sum()
+    hits = predictions == labels
+    if rank >= n % p:
+        hits = hits[:-1]
+    if n < p:
+        hits = (predictions == labels)[: int(rank < n)]
+    correct = hits.sum()

# %% wrong_flags_travel: wrong, too_many_bytes, levels 1 1 0
def evaluate_padded(predictions, labels, indices, n):
    flags = torch.zeros(n, dtype=torch.uint8)
    flags[indices] = (predictions == labels).to(torch.uint8)
    dist.all_reduce(flags, op=dist.ReduceOp.MAX)
    return flags.sum().item() / n

# %% wrong_in_blocks (right_places): wrong, in_blocks, levels 0 1 0
-    rank, p = dist.get_rank(), dist.get_world_size()
-    places = rank + p * torch.arange(len(indices))
+    first = dist.get_rank() * len(labels)
+    places = first + torch.arange(len(labels))

# %% wrong_last: wrong, samples_left_out, levels 0 0 0
def evaluate_padded(predictions, labels, indices, n):
    right = predictions == labels
    if n % dist.get_world_size():
        right = right[:-1]
    sums = torch.tensor([right.sum().item(), len(right)])
    dist.all_reduce(sums)
    return sums[0].item() / max(1, sums[1].item())

# %% wrong_mean: wrong, mean_of_means, levels 0 0 0
def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    mine = len(range(rank, n, p))
    right = (predictions == labels)[:mine].double()
    accuracy = right.mean() if mine else torch.zeros((), dtype=torch.float64)
    dist.all_reduce(accuracy)
    return accuracy.item() / p

# %% wrong_mean_of_nothing: wrong, mean_of_nothing, levels 1 0 1
def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    mine = len(range(rank, n, p))
    good = (predictions == labels)[:mine].double()
    hits = good.mean() * mine
    dist.all_reduce(hits)
    return hits.item() / n

# %% wrong_numerator (right_places): wrong, padding_in_numerator, levels 0 0 0
-    correct = ((predictions == labels) & (places < n)).sum()
+    correct = (predictions == labels).sum()

# %% wrong_only_one_pass (right_places): wrong, one_pass_of_padding, levels 1 0 1
-    places = rank + p * torch.arange(len(indices))
-    correct = ((predictions == labels) & (places < n)).sum()
+    padding = (len(labels) * p - n) % n
+    places = torch.arange(len(labels)) * p + rank
+    correct = ((predictions == labels) & (places < len(labels) * p - padding)).sum()

# %% wrong_own: wrong, own_only, levels 0 0 0
def evaluate_padded(predictions, labels, indices, n):
    return (predictions == labels).double().mean().item()

# %% wrong_percent: wrong, percent, levels 0 0 0
def evaluate_padded(predictions, labels, indices, n):
    mine = len(range(dist.get_rank(), n, dist.get_world_size()))
    t = (predictions == labels)[:mine].sum()
    dist.all_reduce(t)
    return 100 * t.item() / n

# %% wrong_reduce (right_places): wrong, ranks_disagree, levels 0 0 0
-    dist.all_reduce(correct)
+    dist.reduce(correct, 0)

# %% wrong_unique_here: wrong, counts_padding, levels 0 0 0
def evaluate_padded(predictions, labels, indices, n):
    right = {i: bool(r) for i, r in zip(indices.tolist(), predictions == labels)}
    sums = torch.tensor([sum(right.values()), len(right)])
    dist.all_reduce(sums)
    return sums[0].item() / sums[1].item()
