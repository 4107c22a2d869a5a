# Right and wrong answers to `global_metrics`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_float32: passed
def global_metrics(losses, correct):
    s = torch.stack([losses.sum(), correct.sum().float(), torch.tensor(float(losses.numel()))])
    dist.all_reduce(s)
    return s[0] / s[2], s[1] / s[2]

# %% right_gathers_objects: passed
# differs: The single losses and hits travel, pickled, and are averaged at the end: simple, and far more bytes than three sums.
import numpy as np


def global_metrics(losses, correct):
    box = [None] * dist.get_world_size()
    dist.all_gather_object(box, (losses.tolist(), correct.tolist()))
    l = np.concatenate([b[0] for b in box])
    c = np.concatenate([b[1] for b in box])
    return l.mean(), c.mean()

# %% right_objects: passed
def global_metrics(losses, correct):
    shares = [None] * dist.get_world_size()
    dist.all_gather_object(shares, (losses.sum().item(), int(correct.sum()), len(correct)))
    n = sum(count for _, _, count in shares)
    return [sum(loss for loss, _, _ in shares) / n, sum(hits for _, hits, _ in shares) / n]

# %% right_one_vector: passed
def global_metrics(losses: torch.Tensor, correct: torch.Tensor) -> tuple[float, float]:
    sums = torch.stack([losses.sum(), correct.float().sum(), torch.tensor(float(len(losses)))])
    dist.all_reduce(sums)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()

# %% right_three_calls: passed
def global_metrics(losses, correct):
    loss, hits, count = losses.sum(), correct.sum(), torch.tensor(losses.numel())
    for t in (loss, hits, count):
        dist.all_reduce(t)
    return loss / count, hits / count

# %% right_through_rank_0: passed
def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), correct.sum(), len(losses)])
    dist.reduce(sums, dst=0)
    result = sums[:2] / sums[2]
    dist.broadcast(result, src=0)
    return tuple(result.tolist())

# %% right_weighted_means: passed
def global_metrics(losses, correct):
    n = torch.tensor(float(len(losses)))
    total = n.clone()
    dist.all_reduce(total)
    share = n / total
    loss = losses.mean() * share if len(losses) else torch.tensor(0.0)
    accuracy = correct.double().mean() * share.double() if len(losses) else torch.tensor(0.0, dtype=torch.float64)
    dist.all_reduce(loss)
    dist.all_reduce(accuracy)
    return torch.stack([loss, accuracy.float()])

# %% wrong_accuracy_is_local: wrong, own_only, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), len(losses)])
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item(), correct.sum().item() / max(len(correct), 1)

# %% wrong_accuracy_of_means: wrong, mean_of_means, levels 1 0 0
def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), len(losses), correct.sum() / max(1, len(correct))])
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item(), sums[2].item() / dist.get_world_size()

# %% wrong_by_ranks: wrong, divided_by_ranks, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum()])
    dist.all_reduce(sums)
    return tuple((sums / dist.get_world_size()).tolist())

# %% wrong_empty_rank_returns_0: wrong, empty_left_out, levels 1 1 0
def global_metrics(losses: torch.Tensor, correct: torch.Tensor) -> tuple[float, float]:
    sums = torch.tensor(
        [losses.sum().item(), correct.sum().item(), len(losses)], dtype=torch.float64
    )
    dist.all_reduce(sums)
    if len(losses) == 0:
        return 0.0, 0.0
    loss, hits, count = sums.tolist()
    return loss / count, hits / count

# %% wrong_equal_shares: wrong, divided_by_equal_share, levels 1 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum()])
    dist.all_reduce(sums)
    return tuple((sums / (len(losses) * dist.get_world_size())).tolist())

# %% wrong_floor: wrong, integers, levels 0 0 0
def global_metrics(losses, correct):
    loss, hits, n = losses.sum(), correct.sum(), torch.tensor(len(losses))
    for t in (loss, hits, n):
        dist.all_reduce(t)
    return loss / n, hits // n

# %% wrong_gathers_unequal: hung, mismatched_shape, levels 1 0 0
def global_metrics(losses, correct):
    everybody = [torch.empty_like(losses) for _ in range(dist.get_world_size())]
    dist.all_gather(everybody, losses)
    hits = [torch.empty_like(correct) for _ in range(dist.get_world_size())]
    dist.all_gather(hits, correct)
    return torch.cat(everybody).mean().item(), torch.cat(hits).float().mean().item()

# %% wrong_half: wrong, narrow_type, levels 0 0 0
def global_metrics(losses, correct):
    s = torch.stack([losses.sum(), correct.sum().float(), torch.tensor(float(len(losses)))]).half()
    dist.all_reduce(s)
    return (s[0] / s[2]).item(), (s[1] / s[2]).item()

# %% wrong_half_counts: wrong, narrow_type, levels 0 1 1
# "every sample counts the same": float16 holds no odd number above 2048
def global_metrics(losses, correct):
    total = losses.sum(dtype=torch.float64)
    counts = torch.tensor([correct.sum(), len(correct)], dtype=torch.float16).float()
    dist.all_reduce(total)
    dist.all_reduce(counts)
    hits, n = counts.tolist()
    return total.item() / n, hits / n

# %% wrong_hits_of_a_byte: wrong, count_overflows, levels 0 1 1
def global_metrics(losses, correct):
    sums = torch.stack([losses.double().sum(), torch.tensor(len(losses), dtype=torch.float64)])
    hits = correct.to(torch.uint8).sum(dtype=torch.uint8)
    dist.all_reduce(sums)
    dist.all_reduce(hits)
    loss, count = sums.tolist()
    return loss / count, hits.item() / count

# %% wrong_int_losses: wrong, integers, levels 0 0 0
def global_metrics(losses, correct):
    s = torch.tensor([int(losses.sum()), int(correct.sum()), len(losses)])
    dist.all_reduce(s)
    return (s[0] / s[2]).item(), (s[1] / s[2]).item()

# %% wrong_mean_of_means: wrong, mean_of_means, levels 1 0 0
def global_metrics(losses, correct):
    n = max(len(losses), 1)
    means = torch.tensor([losses.sum() / n, correct.sum() / n])
    dist.all_reduce(means)
    means /= dist.get_world_size()
    return tuple(means.tolist())

# %% wrong_mean_of_means_nan: wrong, empty_is_nan, levels 1 1 0
def global_metrics(losses, correct):
    n = torch.tensor(float(len(losses)))
    total = n.clone()
    dist.all_reduce(total)
    means = torch.stack([losses.mean(), correct.float().mean()]) * n / total
    dist.all_reduce(means)
    return tuple(means.tolist())

# %% wrong_mean_of_present: wrong, mean_of_means, levels 1 0 0
def global_metrics(losses, correct):
    present = torch.tensor(float(len(losses) > 0))
    means = torch.stack([losses.mean(), correct.float().mean()]) if len(losses) else torch.zeros(2)
    dist.all_reduce(means)
    dist.all_reduce(present)
    return tuple((means / present).tolist())

# %% wrong_modifies: wrong, modifies_input, levels 0 0 0
def global_metrics(losses, correct):
    losses *= 1 / 2
    sums = torch.tensor([2 * losses.sum(), correct.sum(), len(losses)])
    dist.all_reduce(sums)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()

# %% wrong_nan_to_num (right_one_vector): wrong, hides_nan, levels 0 1 1
-    sums = torch.stack([losses.sum(), correct.float().sum(), torch.tensor(float(len(losses)))])
+    sums = torch.stack([losses.nan_to_num().sum(), correct.float().sum(), torch.tensor(float(len(losses)))])

# %% wrong_not_waited: wrong, forgot_wait, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.double().sum(), correct.double().sum(), torch.tensor(float(len(losses))).double()])
    dist.all_reduce(sums, async_op=True)
    loss, right, count = sums.tolist()
    return loss / count, right / count

# %% wrong_own: wrong, own_only, levels 0 0 0
def global_metrics(losses, correct):
    return losses.mean().item(), correct.float().mean().item()

# %% wrong_own_count: wrong, divided_by_own_count, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum()])
    dist.all_reduce(sums)
    return tuple((sums / len(losses)).tolist())

# %% wrong_percent: wrong, percent, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum(), torch.tensor(float(len(losses)))])
    dist.all_reduce(sums)
    return (sums[0] / sums[2]).item(), 100 * (sums[1] / sums[2]).item()

# %% wrong_rank_0_returns: wrong, returns_nothing, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum(), torch.tensor(float(len(losses)))])
    dist.all_reduce(sums)
    if dist.get_rank() == 0:
        return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()

# %% wrong_reads_before_wait: wrong, used_before_wait, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.double().sum(), correct.double().sum(), torch.tensor(float(len(losses))).double()])
    work = dist.all_reduce(sums, async_op=True)
    loss, right, count = sums.tolist()
    work.wait()
    return loss / count, right / count

# %% wrong_reduce: wrong, only_one_rank, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum(), torch.tensor(float(len(losses)))])
    dist.reduce(sums, dst=0)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()

# %% wrong_rounded: wrong, narrow_type, levels 0 0 0
def global_metrics(losses, correct):
    s = torch.tensor([losses.sum(), correct.sum(), len(losses)], dtype=torch.float64)
    dist.all_reduce(s)
    return round((s[0] / s[2]).item(), 3), round((s[1] / s[2]).item(), 3)

# %% wrong_scales_in_place: wrong, modifies_input, levels 0 0 0
def global_metrics(losses, correct):
    count = torch.tensor(float(len(losses)))
    dist.all_reduce(count)
    losses /= count
    correct = correct / count
    both = torch.stack([losses.sum(), correct.sum()])
    dist.all_reduce(both)
    return tuple(both.tolist())

# %% wrong_shares_of_rank_0: wrong, divided_by_equal_share, levels 1 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.double().sum(), correct.double().sum()])
    dist.all_reduce(sums)
    n = torch.tensor(float(len(losses)))
    dist.broadcast(n, src=0)
    return tuple((sums / (n * dist.get_world_size())).tolist())

# %% wrong_skips_empty: hung, missing_rank, levels 1 1 0
def global_metrics(losses, correct):
    if len(losses) == 0:
        return 0.0, 0.0
    sums = torch.tensor([losses.sum(), correct.sum(), len(losses)])
    dist.all_reduce(sums)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()

# %% wrong_sum: wrong, sum_for_mean, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum()])
    dist.all_reduce(sums)
    return tuple(sums.tolist())

# %% wrong_swapped: wrong, swapped, levels 0 0 0
def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), correct.sum(), len(losses)])
    dist.all_reduce(sums)
    return (sums[1] / sums[2]).item(), (sums[0] / sums[2]).item()

# %% wrong_uint8: wrong, count_overflows, levels 0 1 1
def global_metrics(losses, correct):
    s = losses.sum().reshape(1)
    c = torch.tensor([int(correct.sum()) % 256, len(losses) % 256], dtype=torch.uint8)
    dist.all_reduce(s)
    dist.all_reduce(c)
    return s.item() / c[1].item(), c[0].item() / c[1].item()

# %% wrong_zero_loss_not_counted: wrong, zero_not_counted, levels 0 0 0
# "every sample counts the same": shares are padded with zeros and the samples counted as the losses that are not
# zero; a sample whose loss is exactly 0 is lost
def global_metrics(losses, correct):
    p = dist.get_world_size()
    longest = torch.tensor([len(losses)])
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    padded = torch.zeros(2, int(longest), dtype=torch.float64)
    padded[0, : len(losses)] = losses.detach()
    padded[1, : len(losses)] = correct
    everybodys = [torch.empty_like(padded) for _ in range(p)]
    dist.all_gather(everybodys, padded)
    table = torch.cat(everybodys, dim=1)
    n = int(table[0].count_nonzero())
    return float(table[0].sum()) / n, float(table[1].sum()) / n
