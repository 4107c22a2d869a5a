# Right and wrong answers to `vocab_cross_entropy`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
import torch.nn.functional as F

# %% right_objects: passed
def vocab_cross_entropy(logits, targets):
    p, r = dist.get_world_size(), dist.get_rank()
    widths = [None] * p
    dist.all_gather_object(widths, logits.shape[1])
    lo, n = sum(widths[:r]), len(targets)
    own = F.pad(logits, (0, 1), value=-torch.inf).amax(1)
    dist.all_reduce(own, op=dist.ReduceOp.MAX)
    z = logits - own[:, None]
    hit = (torch.arange(lo, lo + widths[r]) == targets[:, None]).double()
    s, t = z.exp().sum(1), (z * hit).sum(1)
    both = torch.cat([s, t])
    dist.all_reduce(both)
    s, t = both.split(n)
    return (s.log() - t).mean(), (z.exp() / s[:, None] - hit) / n

# %% right_one_all_gather: passed
def vocab_cross_entropy(logits, targets):
    """Three numbers of each rank for each token, and its width: gathered once, combined everywhere."""
    p, r, n = dist.get_world_size(), dist.get_rank(), len(targets)
    width = torch.tensor([logits.shape[1]])
    widths = [torch.empty_like(width) for _ in range(p)]
    dist.all_gather(widths, width)
    lo = int(sum(widths[:r], torch.zeros(1)))
    y = targets - lo
    here = (y >= 0) & (y < logits.shape[1])
    own_sum, own_top = torch.zeros(n, dtype=logits.dtype), torch.full((n,), -1e300, dtype=logits.dtype)
    own_target = torch.zeros_like(own_sum)
    if logits.shape[1]:
        own_top = logits.amax(1)
        own_sum = (logits - own_top[:, None]).exp().sum(1)
        own_target = torch.where(here, logits.gather(1, y.clamp(0, logits.shape[1] - 1)[:, None])[:, 0], own_target)
    parts = [torch.empty(3, n, dtype=logits.dtype) for _ in range(p)]
    dist.all_gather(parts, torch.stack([own_top, own_sum, own_target]))
    parts = torch.stack(parts)
    log_sum = (parts[:, 0] + parts[:, 1].log()).logsumexp(0)
    loss = (log_sum - parts[:, 2].sum(0)).mean()
    hits = (torch.arange(logits.shape[1]) == y[:, None]).to(logits.dtype)
    return loss, ((logits - log_sum[:, None]).exp() - hits) / n

# %% right_three_all_reduces: passed
def vocab_cross_entropy(logits, targets):
    p, r, n = dist.get_world_size(), dist.get_rank(), len(targets)
    width = logits.shape[1]
    widths = torch.zeros(p, dtype=torch.int64)
    widths[r] = width
    dist.all_reduce(widths)
    lo = int(widths[:r].sum())
    top = logits.max(1).values if width else logits.new_full((n,), -torch.inf)
    dist.all_reduce(top, dist.ReduceOp.MAX)
    e = (logits - top[:, None]).exp()
    total = e.sum(1)
    dist.all_reduce(total)
    here = ((targets >= lo) & (targets < lo + width)).nonzero()[:, 0]
    at = targets[here] - lo
    target = logits.new_zeros(n)
    target[here] = logits[here, at]
    dist.all_reduce(target)
    loss = (total.log() + top - target).mean()
    gradient = e / total[:, None]
    gradient[here, at] -= 1
    return loss, gradient / n

# %% right_two_collectives: passed
# differs: The sums and the target's logit travel together, so that only the maximum needs a call of its own.
def vocab_cross_entropy(logits, targets):
    r, n = dist.get_rank(), len(targets)
    lengths = torch.zeros(dist.get_world_size(), dtype=torch.float64)
    lengths[r] = logits.size(1)
    dist.all_reduce(lengths)
    before = int(lengths[:r].sum())
    largest = torch.cat([logits, torch.full((n, 1), -1e308, dtype=torch.float64)], 1).amax(1)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    scaled = logits - largest.unsqueeze(1)
    one_hot = torch.zeros_like(logits)
    for i, y in enumerate((targets - before).tolist()):
        if 0 <= y < logits.size(1):
            one_hot[i, y] = 1
    sums = torch.stack([scaled.exp().sum(1), (scaled * one_hot).sum(1)])
    dist.all_reduce(sums)
    loss = sums[0].log().mean() - sums[1].mean()
    return loss.item(), (scaled.exp() / sums[0].unsqueeze(1) - one_hot) / n

# %% wrong_broadcasts_the_loss_too (right_three_all_reduces): wrong, too_many_bytes, levels 0 0 0
     loss = (total.log() + top - target).mean()
+    dist.broadcast(loss, 0)  # the same on every rank

# %% wrong_clamped_target (right_three_all_reduces): wrong, target_everywhere, levels 0 0 0
-    target = logits.new_zeros(n)
-    target[here] = logits[here, at]
+    clamped = (targets - lo).clamp(0, max(width - 1, 0))
+    target = logits.gather(1, clamped[:, None])[:, 0] if width else logits.new_zeros(n)

# %% wrong_empty_share (right_three_all_reduces): raised, IndexError, levels 1 1 0
-    top = logits.max(1).values if width else logits.new_full((n,), -torch.inf)
+    top = logits.max(1).values

# %% wrong_equal_offsets: wrong, equal_shares_assumed, levels 1 1 0
def vocab_cross_entropy(logits, targets):
    n, columns = logits.shape
    first = dist.get_rank() * columns
    m = logits.amax(1) if columns else logits.new_full((n,), float("-inf"))
    dist.all_reduce(m, op=dist.ReduceOp.MAX)
    powers = (logits - m[:, None]).exp()
    mine = (targets >= first) & (targets < first + columns)
    rows = torch.nonzero(mine).flatten()
    where = targets[rows] - first
    both = logits.new_zeros(2, n)
    both[0] = powers.sum(1)
    both[1, rows] = logits[rows, where] - m[rows]
    dist.all_reduce(both)
    gradient = powers / both[0][:, None]
    gradient[rows, where] -= 1
    return (both[0].log() - both[1]).mean().item(), gradient / n

# %% wrong_equal_shares (right_three_all_reduces): wrong, equal_shares_assumed, levels 1 1 0
-    widths = torch.zeros(p, dtype=torch.int64)
-    widths[r] = width
-    dist.all_reduce(widths)
-    lo = int(widths[:r].sum())
+    lo = r * width

# %% wrong_first_column_left_out (right_three_all_reduces): wrong, first_column_left_out, levels 0 0 0
-    here = ((targets >= lo) & (targets < lo + width)).nonzero()[:, 0]
+    here = ((targets > lo) & (targets < lo + width)).nonzero()[:, 0]

# %% wrong_first_of_equal_starts (right_three_all_reduces): wrong, unrecognised, levels 1 1 0
-    lo = int(widths[:r].sum())
+    starts = [int(widths[:q].sum()) for q in range(p)]
+    owner = torch.tensor([starts.index(max(s for s in starts if s <= y)) for y in targets.tolist()])
@@
-    here = ((targets >= lo) & (targets < lo + width)).nonzero()[:, 0]
-    at = targets[here] - lo
+    here = ((owner == r) & (targets - starts[r] < width)).nonzero()[:, 0]
+    at = targets[here] - starts[r]

# %% wrong_float32 (right_three_all_reduces): wrong, lost_digits, levels 0 0 0
     p, r, n = dist.get_world_size(), dist.get_rank(), len(targets)
+    logits = logits.float()
@@
-    return loss, gradient / n
+    return loss.double(), (gradient / n).double()

# %% wrong_gathers_logits: wrong, too_many_bytes, levels 0 0 0
def vocab_cross_entropy(logits, targets):
    p, r, n = dist.get_world_size(), dist.get_rank(), len(targets)
    widths = [torch.zeros(1, dtype=torch.int64) for _ in range(p)]
    dist.all_gather(widths, torch.tensor([logits.shape[1]]))
    widths = [int(w) for w in widths]
    mine = F.pad(logits, (0, max(widths) - logits.shape[1]))
    parts = [torch.empty_like(mine) for _ in range(p)]
    dist.all_gather(parts, mine)
    whole = torch.cat([part[:, :w] for part, w in zip(parts, widths)], 1).requires_grad_()
    loss = F.cross_entropy(whole, targets)
    loss.backward()
    return loss.detach(), whole.grad.split(widths, 1)[r]

# %% wrong_gradient_is_softmax (right_three_all_reduces): wrong, no_target_in_gradient, levels 0 0 0
-    gradient[here, at] -= 1

# %% wrong_gradient_of_sum (right_three_all_reduces): wrong, gradient_of_the_sum, levels 0 0 0
-    return loss, gradient / n
+    return loss, gradient

# %% wrong_maximum_not_added (right_three_all_reduces): wrong, maximum_not_added, levels 0 0 0
-    loss = (total.log() + top - target).mean()
+    loss = (total.log() - target).mean()

# %% wrong_no_max (right_three_all_reduces): wrong, not_finite, levels 1 0 0
-    e = (logits - top[:, None]).exp()
+    e = logits.exp()
@@
-    loss = (total.log() + top - target).mean()
+    loss = (total.log() - target).mean()

# %% wrong_one_maximum: wrong, not_finite, levels 1 1 0
def vocab_cross_entropy(logits, targets):
    rank, p = dist.get_rank(), dist.get_world_size()
    n, width = logits.shape
    widths = [torch.zeros(1, dtype=torch.int64) for _ in range(p)]
    dist.all_gather(widths, torch.tensor([width]))
    first = sum(int(one) for one in widths[:rank])
    m = logits.max().clone() if width else torch.tensor(-torch.inf, dtype=logits.dtype)
    dist.all_reduce(m, op=dist.ReduceOp.MAX)
    shifted = logits - m
    hit = torch.arange(first, first + width) == targets[:, None]
    both = torch.stack([shifted.exp().sum(1), torch.where(hit, shifted, 0.0).sum(1)])
    dist.all_reduce(both)
    gradient = shifted.exp() / both[0][:, None] - hit.double()
    return (both[0].log() - both[1]).mean(), gradient / n

# %% wrong_own_max (right_three_all_reduces): wrong, max_not_shared, levels 0 0 0
-    top = logits.max(1).values if width else logits.new_full((n,), -torch.inf)
-    dist.all_reduce(top, dist.ReduceOp.MAX)
+    top = logits.max(1).values if width else logits.new_zeros(n)

# %% wrong_own_max_for_the_target_too (right_three_all_reduces): wrong, max_not_shared, levels 0 0 0
-    top = logits.max(1).values if width else logits.new_full((n,), -torch.inf)
-    dist.all_reduce(top, dist.ReduceOp.MAX)
+    top = logits.max(1).values if width else logits.new_zeros(n)
@@
-    target[here] = logits[here, at]
+    target[here] = logits[here, at] - top[here]
@@
-    loss = (total.log() + top - target).mean()
+    loss = (total.log() - target).mean()

# %% wrong_own_softmax (right_three_all_reduces): wrong, own_softmax, levels 0 0 0
-    gradient = e / total[:, None]
+    gradient = e / e.sum(1, keepdim=True)

# %% wrong_squeezes_one_target (right_three_all_reduces): raised, TypeError, levels 0 1 1
-    here = ((targets >= lo) & (targets < lo + width)).nonzero()[:, 0]
+    here = ((targets >= lo) & (targets < lo + width)).nonzero().squeeze()
@@
-    target[here] = logits[here, at]
+    if len(here):
+        target[here] = logits[here, at]

# %% wrong_sum (right_three_all_reduces): wrong, sum_for_mean, levels 0 0 0
-    loss = (total.log() + top - target).mean()
+    loss = (total.log() + top - target).sum()

# %% wrong_target_by_maximum (right_three_all_reduces): wrong, target_by_maximum, levels 0 0 0
-    dist.all_reduce(target)
+    dist.all_reduce(target, dist.ReduceOp.MAX)

# %% wrong_target_in_every_row (right_three_all_reduces): wrong, target_in_every_row, levels 0 0 0
-    gradient[here, at] -= 1
+    gradient[:, at] -= 1

# %% wrong_target_not_summed (right_three_all_reduces): wrong, losses_differ, levels 0 0 0
-    dist.all_reduce(target)

# %% wrong_zero_for_no_columns: wrong, not_finite, levels 1 1 0
def vocab_cross_entropy(logits, targets):
    rank, p = dist.get_rank(), dist.get_world_size()
    n, width = logits.shape
    widths = [torch.zeros(1, dtype=torch.int64) for _ in range(p)]
    dist.all_gather(widths, torch.tensor([width]))
    first = sum(int(one) for one in widths[:rank])
    m = logits.max(1).values if width else torch.zeros(n, dtype=logits.dtype)
    dist.all_reduce(m, op=dist.ReduceOp.MAX)
    shifted = logits - m[:, None]
    hit = torch.arange(first, first + width) == targets[:, None]
    both = torch.stack([shifted.exp().sum(1), torch.where(hit, shifted, 0.0).sum(1)])
    dist.all_reduce(both)
    gradient = shifted.exp() / both[0][:, None] - hit.double()
    return (both[0].log() - both[1]).mean(), gradient / n
