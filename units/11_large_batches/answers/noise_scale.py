# Right and wrong answers to `noise_scale`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_average: passed
# differs: The square norm travels in front of the gradient, and the library takes the mean: two lines less to get wrong.
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p < 2:
        raise ValueError("at least two ranks")
    sent = torch.empty(len(gradient) + 1, dtype=gradient.dtype)
    sent[0] = gradient @ gradient
    sent[1:] = gradient
    dist.all_reduce(sent, op=dist.ReduceOp.AVG)
    small, mean = sent[0], sent[1:]
    big = mean @ mean
    signal = (p * big - small) / (p - 1)
    return mean, (small - big) * p * b / (p - 1) / signal

# %% right_one_tensor: passed
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError("one batch size is not enough")
    both = torch.cat([gradient, (gradient**2).sum().reshape(1)])
    dist.all_reduce(both)
    both /= p
    mean, small = both[:-1], both[-1].item()
    big = (mean**2).sum().item()
    B = p * b
    signal = (B * big - b * small) / (B - b)
    noise = (small - big) / (1 / b - 1 / B)
    return mean, noise / signal

# %% wrong_abs: wrong, sign_lost, levels 0 1 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError
    both = torch.cat([gradient, gradient.dot(gradient).reshape(1)])
    dist.all_reduce(both)
    both /= p
    mean, small = both[:-1], both[-1].item()
    large = mean.dot(mean).item()
    B = p * b
    return mean, abs((small - large) / (1 / b - 1 / B) / ((B * large - b * small) / (B - b)))

# %% wrong_added (right_one_tensor): wrong, norms_added, levels 0 0 1
-    mean, small = both[:-1], both[-1].item()
+    mean, small = both[:-1], p * both[-1].item()

# %% wrong_biased (right_one_tensor): wrong, biased, levels 0 0 1
-    return mean, noise / signal
+    return mean, noise / big

# %% wrong_cut_off: wrong, cut_off_at_zero, levels 0 1 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError
    both = torch.cat([gradient, gradient.dot(gradient).reshape(1)])
    dist.all_reduce(both)
    both /= p
    mean, small = both[:-1], both[-1].item()
    large = mean.dot(mean).item()
    B = p * b
    return mean, max(0.0, (small - large) / (1 / b - 1 / B) / ((B * large - b * small) / (B - b)))

# %% wrong_divided_and_restored: wrong, modifies_input, levels 0 0 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError("one batch size is not enough")
    small = (gradient @ gradient).reshape(1) / p
    gradient /= p
    sent = torch.cat([gradient, small])
    gradient *= p
    dist.all_reduce(sent)
    mean, small = sent[:-1].clone(), sent[-1].item()
    big = (mean @ mean).item()
    signal = (p * big - small) / (p - 1)
    return mean, (small - big) * p * b / (p - 1) / signal

# %% wrong_eps_in_the_signal: wrong, signal_padded, levels 0 1 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError("one rank")
    both = torch.cat([gradient, (gradient @ gradient).reshape(1)])
    dist.all_reduce(both)
    both /= p
    mean, small = both[:-1], both[-1].item()
    big = (mean @ mean).item()
    signal = (p * big - small) / (p - 1)
    return mean, (small - big) * p * b / (p - 1) / (signal + 1e-12)

# %% wrong_float32 (right_one_tensor): wrong, lost_digits, levels 0 0 1
     both = torch.cat([gradient, (gradient**2).sum().reshape(1)])
+    both = both.float()
@@
     dist.all_reduce(both)
+    both = both.double()

# %% wrong_float32_square (right_one_tensor): wrong, square_in_float32, levels 0 1 1
-    both = torch.cat([gradient, (gradient**2).sum().reshape(1)])
+    both = torch.cat([gradient, torch.tensor([sum(a * a for a in gradient.tolist())])])

# %% wrong_gathers: wrong, moves_too_much, levels 1 0 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError
    every = [torch.empty_like(gradient) for _ in range(p)]
    dist.all_gather(every, gradient.contiguous())
    every = torch.stack(every)
    mean, small = every.mean(0), every.square().sum(1).mean()
    big = mean.square().sum()
    signal = (p * big - small) / (p - 1)
    noise = (small - big) * b / (1 - 1 / p)
    return mean, float(noise / signal)

# %% wrong_gathers_all: wrong, moves_too_much, levels 1 0 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError
    mine = torch.cat([gradient, (gradient @ gradient)[None]])
    rows = [torch.empty_like(mine) for _ in range(p)]
    dist.all_gather(rows, mine)
    m = torch.stack(rows).mean(0)
    mean, small = m[:-1], float(m[-1])
    large = float(mean @ mean)
    return mean, (small - large) / (1 / b - 1 / (p * b)) * (p * b - b) / (p * b * large - b * small)

# %% wrong_in_place: wrong, modifies_input, levels 0 0 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError
    small = (gradient**2).sum()
    dist.all_reduce(gradient, op=dist.ReduceOp.AVG)
    dist.all_reduce(small, op=dist.ReduceOp.AVG)
    big = (gradient**2).sum()
    signal = (p * big - small) / (p - 1)
    noise = (small - big) / (1 / b - 1 / (p * b))
    return gradient, noise / signal

# %% wrong_local_batches (right_one_tensor): wrong, in_local_batches, levels 0 0 1
-    B = p * b
+    B, b = p, 1

# %% wrong_never_negative: wrong, signal_cut_off, levels 0 1 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError("one rank")
    both = torch.cat([gradient, (gradient @ gradient).reshape(1)])
    dist.all_reduce(both)
    both /= p
    mean, small = both[:-1], both[-1].item()
    large, B = (mean @ mean).item(), p * b
    G2 = max((B * large - b * small) / (B - b), 1e-12)
    S = (small - large) / (1 / b - 1 / B)
    return mean, S / G2

# %% wrong_not_averaged (right_one_tensor): wrong, sum_of_gradients, levels 0 0 1
-    both /= p

# %% wrong_one_not_squared: wrong, one_not_squared, levels 0 0 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError("one rank has no second batch size")
    packed = torch.cat([gradient, gradient.norm().reshape(1)])
    dist.all_reduce(packed)
    packed /= p
    mean, small, B = packed[:-1], packed[-1].item(), p * b
    large = (mean @ mean).item()
    size = (B * large - b * small) / (B - b)
    noise = (small - large) / (1 / b - 1 / B)
    return mean, noise / size

# %% wrong_one_rank (right_one_tensor): wrong, not_refused, levels 1 1 0
-        raise ValueError("one batch size is not enough")
+        return gradient, float("inf")

# %% wrong_own_gradient (right_one_tensor): wrong, own_gradient, levels 0 0 1
-    return mean, noise / signal
+    return gradient, noise / signal

# %% wrong_own_norm (right_one_tensor): wrong, own_norm, levels 0 0 1
-    mean, small = both[:-1], both[-1].item()
+    mean, small = both[:-1], (gradient**2).sum().item()

# %% wrong_ranks_for_batch: wrong, ranks_for_batch, levels 0 0 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError("one rank has no second batch size")
    packed = torch.cat([gradient, (gradient @ gradient).reshape(1)])
    dist.all_reduce(packed)
    packed /= p
    mean, small, B = packed[:-1], packed[-1].item(), p
    large = (mean @ mean).item()
    size = (B * large - b * small) / (B - b)
    noise = (small - large) / (1 / b - 1 / B)
    return mean, noise / size

# %% wrong_refuses_one_sample: wrong, ValueError, levels 0 1 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1 or b <= 1:
        raise ValueError("one size of batch")
    both = torch.cat([gradient, (gradient @ gradient)[None]])
    dist.all_reduce(both)
    both /= p
    mean, small = both[:-1], both[-1]
    big = mean @ mean
    noise = (small - big) / (1 / b - 1 / (p * b))
    signal = (p * b * big - b * small) / (p * b - b)
    return mean, (noise / signal).item()

# %% wrong_refuses_two (right_one_tensor): wrong, ValueError, levels 0 1 1
-    if p == 1:
+    if p < 3:

# %% wrong_roots (right_one_tensor): wrong, roots, levels 0 0 1
-    both = torch.cat([gradient, (gradient**2).sum().reshape(1)])
+    both = torch.cat([gradient, gradient.norm().reshape(1)])
@@
-    big = (mean**2).sum().item()
+    big = mean.norm().item()

# %% wrong_square_of_mean (right_one_tensor): wrong, square_of_mean_norm, levels 0 0 1
-    both = torch.cat([gradient, (gradient**2).sum().reshape(1)])
+    both = torch.cat([gradient, gradient.norm().reshape(1)])
@@
-    mean, small = both[:-1], both[-1].item()
+    mean, small = both[:-1], both[-1].item() ** 2

# %% wrong_sum (right_one_tensor): wrong, sum_of_gradients, levels 0 0 1
-    return mean, noise / signal
+    return p * mean, noise / signal

# %% wrong_two_calls (right_one_tensor): wrong, too_many_collectives, levels 1 0 1
-    dist.all_reduce(both)
+    dist.all_reduce(both[:-1])
+    dist.all_reduce(both[-1:])

# %% wrong_upside_down (right_one_tensor): wrong, upside_down, levels 0 0 1
-    return mean, noise / signal
+    return mean, signal / noise

# %% wrong_variance (right_one_tensor): wrong, only_variance, levels 0 0 1
-    return mean, noise / signal
+    return mean, noise

# %% wrong_variance_over_p: wrong, variance_over_p, levels 0 0 1
def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError("one rank has one size of batch")
    both = torch.cat([gradient, gradient.square().sum()[None]]) / p
    dist.all_reduce(both)
    mean, small = both[:-1], both[-1]
    big = mean.square().sum()
    noise = b * (small - big)
    signal = (p * big - small) / (p - 1)
    return mean, float(noise / signal)
