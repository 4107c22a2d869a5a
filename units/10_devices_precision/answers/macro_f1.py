# Right and wrong answers to `macro_f1`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_matrix: passed
def macro_f1(predicted, labels, classes):
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2)
    dist.all_reduce(counts)
    matrix = counts.view(classes, classes).double()
    hits, both = matrix.diag(), matrix.sum(0) + matrix.sum(1)
    each = torch.where(both > 0, 2 * hits / both, 0.0)
    return each.mean().item()

# %% right_three_counts: passed
# differs: Three counts for each class in place of the whole matrix: all that F1 needs.
def macro_f1(predicted, labels, classes):
    counts = torch.zeros(classes, 3)
    for k in range(classes):
        p, t = predicted == k, labels == k
        counts[k] = torch.stack([(p & t).sum(), (p & ~t).sum(), (~p & t).sum()])
    dist.all_reduce(counts)
    total = 0.0
    for tp, fp, fn in counts.tolist():
        total += 2 * tp / (2 * tp + fp + fn) if tp else 0.0
    return total / classes

# %% right_two_counts: passed
def macro_f1(predicted, labels, classes):
    hit = predicted == labels
    counts = torch.zeros(2, classes)
    for k in range(classes):
        counts[0, k] = (hit & (labels == k)).sum()
        counts[1, k] = (~hit & (labels == k)).sum() + (~hit & (predicted == k)).sum()
    dist.all_reduce(counts)
    hits, misses = counts.double()
    return float((2 * hits / (2 * hits + misses).clamp(min=1)).mean())

# %% wrong_average (right_matrix): wrong, averages_f1, levels 0 0 0
-    dist.all_reduce(counts)
@@
-    return each.mean().item()
+    mean = each.mean()
+    dist.all_reduce(mean)
+    return mean.item() / dist.get_world_size()

# %% wrong_counts_float16: wrong, unrecognised, levels 1 1 0
def macro_f1(predicted, labels, classes):
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2).to(torch.float16)
    dist.all_reduce(counts)
    matrix = counts.view(classes, classes).double()
    hits, both = matrix.diag(), matrix.sum(0) + matrix.sum(1)
    return (2 * hits / both.clamp(min=1)).mean().item()

# %% wrong_counts_int16: wrong, counts_wrap, levels 1 1 0
def macro_f1(predicted, labels, classes):
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2).to(torch.int16)
    dist.all_reduce(counts)
    matrix = counts.view(classes, classes).double()
    hits, both = matrix.diag(), matrix.sum(0) + matrix.sum(1)
    return (2 * hits / both.clamp(min=1)).mean().item()

# %% wrong_counts_pairs_once: wrong, counts_pairs_once, levels 0 0 0
def macro_f1(predicted, labels, classes):
    matrix = torch.zeros(classes, classes, dtype=torch.int64)
    matrix[labels, predicted] += 1
    dist.all_reduce(matrix)
    matrix = matrix.double()
    return (2 * matrix.diagonal() / (matrix.sum(0) + matrix.sum(1)).clamp(min=1)).mean().item()

# %% wrong_counts_uint8: wrong, counts_wrap, levels 1 1 0
def macro_f1(predicted, labels, classes):
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2).to(torch.uint8)
    dist.all_reduce(counts)
    matrix = counts.view(classes, classes).double()
    hits, both = matrix.diag(), matrix.sum(0) + matrix.sum(1)
    return (2 * hits / both.clamp(min=1)).mean().item()

# %% wrong_gathers_samples: wrong, too_many_bytes, levels 1 1 0
def macro_f1(predicted, labels, classes):
    own = torch.full((2, 2**16), -1)
    own[0, : len(labels)], own[1, : len(labels)] = predicted, labels
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    predicted, labels = torch.cat(parts, 1)
    total = 0.0
    for k in range(classes):
        p, t = predicted == k, labels == k
        total += 2 * (p & t).sum().item() / max(1, (p.sum() + t.sum()).item())
    return total / classes

# %% wrong_labelled_only: wrong, leaves_out_missing_classes, levels 1 0 1
def macro_f1(predicted, labels, classes):
    matrix = torch.bincount(labels * classes + predicted, minlength=classes**2)
    dist.all_reduce(matrix)
    matrix = matrix.view(classes, classes)
    there, both = matrix.sum(1) > 0, (matrix.sum(0) + matrix.sum(1)).double()
    return (2 * matrix.diag() / both)[there].mean().item()

# %% wrong_means (right_matrix): wrong, f1_of_means, levels 0 0 0
-    each = torch.where(both > 0, 2 * hits / both, 0.0)
-    return each.mean().item()
+    precision = (hits / matrix.sum(0).clamp(min=1)).mean()
+    recall = (hits / matrix.sum(1).clamp(min=1)).mean()
+    return (2 * precision * recall / (precision + recall)).item()

# %% wrong_micro (right_matrix): wrong, accuracy, levels 0 0 0
-    return each.mean().item()
+    return (hits.sum() / matrix.sum()).item()

# %% wrong_missing_is_one: wrong, missing_is_one, levels 1 0 1
def macro_f1(predicted, labels, classes):
    matrix = torch.bincount(labels * classes + predicted, minlength=classes**2)
    dist.all_reduce(matrix)
    matrix = matrix.reshape(classes, classes).double()
    both = matrix.sum(0) + matrix.sum(1)
    return torch.where(both > 0, 2 * matrix.diagonal() / both, 1.0).mean().item()

# %% wrong_nan (right_matrix): wrong, missing_is_nan, levels 1 0 1
-    each = torch.where(both > 0, 2 * hits / both, 0.0)
+    each = 2 * hits / both

# %% wrong_own (right_matrix): wrong, own_only, levels 0 0 0
-    dist.all_reduce(counts)
+    dist.barrier()

# %% wrong_present (right_matrix): wrong, leaves_out_missing_classes, levels 1 0 1
-    return each.mean().item()
+    return each[both > 0].mean().item()

# %% wrong_reduce (right_matrix): wrong, ranks_disagree, levels 0 0 0
-    dist.all_reduce(counts)
+    dist.reduce(counts, dst=0)

# %% wrong_row_by_row: wrong, too_many_collectives, levels 1 1 0
def macro_f1(predicted, labels, classes):
    total = 0.0
    for k in range(classes):
        p, t = predicted == k, labels == k
        counts = torch.tensor([(p & t).sum(), p.sum() + t.sum()])
        dist.all_reduce(counts)
        total += 2 * counts[0].item() / max(1, counts[1].item())
    return total / classes

# %% wrong_squeezed: raised, IndexError, levels 1 1 0
def macro_f1(predicted, labels, classes):
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2)
    dist.all_reduce(counts)
    m = counts.view(classes, classes).squeeze().double()
    hits = m.diagonal()
    return (2 * hits / (m.sum(0) + m.sum(1)).clamp(min=1)).mean().item()

# %% wrong_three_rows: wrong, too_many_bytes, levels 1 1 0
def macro_f1(predicted, labels, classes):
    hit = predicted == labels
    rows = [labels[hit], predicted[~hit], labels[~hit]]
    counts = torch.stack([torch.bincount(row, minlength=classes) for row in rows])
    dist.all_reduce(counts)
    tp, fp, fn = counts.double()
    return float((2 * tp / (2 * tp + fp + fn).clamp(min=1)).mean())

# %% wrong_weighted (right_matrix): wrong, weighted_by_samples, levels 0 0 0
-    return each.mean().item()
+    return ((each * matrix.sum(1)).sum() / matrix.sum()).item()
