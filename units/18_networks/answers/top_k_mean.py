# Right and wrong answers to `top_k_mean`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_messages: passed
def top_k_mean(gradient, error, k):
    r, p = dist.get_rank(), dist.get_world_size()
    total = gradient + error
    own = total.abs().topk(k).indices
    package = torch.stack([own.to(torch.float64), total[own]])
    mean = torch.zeros_like(total)
    got = [torch.empty_like(package) for _ in range(p)]
    got[r] = package
    requests = [dist.irecv(got[q], q) for q in range(p) if q != r]
    requests += [dist.isend(package, q) for q in range(p) if q != r]
    for request in requests:
        request.wait()
    for one in got:
        mean.scatter_add_(0, one[0].long(), one[1])
    total[own] = 0
    error[:] = total
    return mean.div_(p)

# %% right_one_gather: passed
def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    error += gradient
    indices = torch.argsort(error.abs(), descending=True)[:k].to(torch.int32)
    packed = torch.cat([indices.double(), error[indices.long()]])
    everything = packed.new_empty(p * 2 * k)
    dist.all_gather_single(everything, packed)
    error[indices.long()] = 0.0
    rows = everything.view(p, 2, k)
    return torch.zeros_like(gradient).index_add_(0, rows[:, 0].reshape(-1).long(), rows[:, 1].reshape(-1) / p)

# %% right_sparse: passed
# differs: A sparse tensor adds up doubles by itself when it is made dense.
def top_k_mean(gradient, error, k):
    n, p = len(gradient), dist.get_world_size()
    error.add_(gradient)
    order = sorted(range(n), key=lambda i: -abs(error[i].item()))[:k]
    mine = torch.tensor(order), error[order]
    gathered = [[torch.empty_like(one) for _ in range(p)] for one in mine]
    for parts, one in zip(gathered, mine):
        dist.all_gather(parts, one)
    error[order] = 0
    indices, values = (torch.cat(parts) for parts in gathered)
    return torch.sparse_coo_tensor(indices[None], values, (n,)).to_dense() / p

# %% right_two_gathers: passed
def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    full = gradient + error
    indices = full.abs().topk(k).indices
    values = full[indices]
    error.copy_(full)
    error[indices] = 0
    all_indices = [torch.empty_like(indices) for _ in range(p)]
    all_values = [torch.empty_like(values) for _ in range(p)]
    dist.all_gather(all_indices, indices)
    dist.all_gather(all_values, values)
    mean = torch.zeros_like(gradient)
    for i, v in zip(all_indices, all_values):
        mean[i] += v
    return mean / p

# %% wrong_all_chosen_zeroed (right_two_gathers): wrong, clears_what_others_sent, levels 0 0 0
-    error[indices] = 0
@@
     dist.all_gather(all_values, values)
+    error[torch.cat(all_indices)] = 0

# %% wrong_chosen_before (right_two_gathers): wrong, error_added_after_selection, levels 1 0 0
-    indices = full.abs().topk(k).indices
+    indices = gradient.abs().topk(k).indices

# %% wrong_data_replaced (right_two_gathers): wrong, drops_the_error, levels 0 0 0
-    error.copy_(full)
+    error.data = full

# %% wrong_dense: wrong, too_many_bytes, levels 1 1 0
def top_k_mean(gradient, error, k):
    full = gradient + error
    indices = full.abs().topk(k).indices
    sent = torch.zeros_like(full)
    sent[indices] = full[indices]
    error.copy_(full - sent)
    dist.all_reduce(sent)
    return sent / dist.get_world_size()

# %% wrong_dense_where_k_is_large (right_two_gathers): wrong, too_many_bytes, levels 1 1 0
-    p = dist.get_world_size()
+    n, p = len(gradient), dist.get_world_size()
@@
     error[indices] = 0
+    if 4 * k > n:  # so many: the indices do not pay
+        mean = torch.zeros_like(full)
+        mean[indices] = values
+        dist.all_reduce(mean)
+        return mean / p

# %% wrong_duplicates (right_two_gathers): wrong, overwrites_the_same_index, levels 0 0 0
-    for i, v in zip(all_indices, all_values):
-        mean[i] += v
+    for i, v in zip(torch.cat(all_indices), torch.cat(all_values)):
+        mean[i] = v

# %% wrong_error_of_mean: wrong, error_of_the_mean, levels 0 0 0
def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    full = gradient + error
    at = full.abs().topk(k).indices
    values = full[at]
    vs = [torch.empty_like(values) for _ in range(p)]
    ats = [torch.empty_like(at) for _ in range(p)]
    dist.all_gather(vs, values)
    dist.all_gather(ats, at)
    mean = torch.zeros_like(full)
    for v, i in zip(vs, ats):
        mean[i] += v
    mean /= p
    error.copy_(full - mean)
    return mean

# %% wrong_error_only_added (right_two_gathers): wrong, counts_the_error_twice, levels 1 0 0
-    error.copy_(full)
-    error[indices] = 0
+    full[indices] = 0
+    error.add_(full)

# %% wrong_float32 (right_two_gathers): wrong, lost_digits, levels 0 0 0
-    values = full[indices]
+    values = full[indices].float()

# %% wrong_forgets (right_two_gathers): wrong, forgets_older_errors, levels 1 0 0
-    error.copy_(full)
+    error.copy_(gradient)

# %% wrong_in_place: wrong, modifies_input, levels 1 0 0
def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    gradient += error
    indices = gradient.abs().topk(k).indices
    packed = torch.stack([indices.double(), gradient[indices]])
    parts = [torch.empty_like(packed) for _ in range(p)]
    dist.all_gather(parts, packed)
    error.copy_(gradient)
    error[indices] = 0
    mean = torch.zeros_like(gradient)
    for part in parts:
        mean[part[0].long()] += part[1] / p
    return mean

# %% wrong_index_in_16_bits: wrong, unrecognised, levels 0 1 1
def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    full = gradient + error
    at = full.abs().topk(k).indices
    indices, values = at.to(torch.int16), full[at]
    all_indices = [torch.empty_like(indices) for _ in range(p)]
    all_values = [torch.empty_like(values) for _ in range(p)]
    dist.all_gather(all_indices, indices)
    dist.all_gather(all_values, values)
    mean = torch.zeros_like(gradient)
    for where, what in zip(all_indices, all_values):
        mean.index_add_(0, where.long() % len(gradient), what / p)
    error.copy_(full)
    error[at] = 0
    return mean

# %% wrong_keeps (right_two_gathers): wrong, keeps_what_was_sent, levels 0 0 0
-    error[indices] = 0

# %% wrong_largest (right_two_gathers): wrong, largest_not_in_magnitude, levels 0 0 0
-    indices = full.abs().topk(k).indices
+    indices = full.topk(k).indices

# %% wrong_local_error (right_two_gathers): wrong, drops_the_error, levels 0 0 0
-    full = gradient + error
+    full = gradient
@@
-    error.copy_(full)
+    error = full.clone()

# %% wrong_no_feedback (right_two_gathers): wrong, drops_the_error, levels 0 0 0
-    full = gradient + error
+    full = gradient
@@
-    error.copy_(full)
-    error[indices] = 0

# %% wrong_nonzero_entries (right_two_gathers): hung, mismatched_shape, levels 0 1 1
-    indices = full.abs().topk(k).indices
-    values = full[indices]
-    error.copy_(full)
-    error[indices] = 0
+    sent = torch.zeros_like(full)
+    top = full.abs().topk(k).indices
+    sent[top] = full[top]
+    error.copy_(full - sent)
+    indices = sent.nonzero().flatten()
+    values = sent[indices]

# %% wrong_overwrites (right_two_gathers): wrong, overwrites_the_same_index, levels 0 0 0
-        mean[i] += v
+        mean[i] = v

# %% wrong_own_values_first (right_messages): wrong, ranks_differ, levels 0 1 1
-    for one in got:
+    for one in got[r:] + got[:r]:

# %% wrong_positions: wrong, averages_positions, levels 0 0 0
def top_k_mean(gradient, error, k):
    full = gradient + error
    indices = full.abs().topk(k).indices
    values = full[indices]
    error.copy_(full)
    error[indices] = 0
    dist.all_reduce(values)
    dist.broadcast(indices, 0)
    mean = torch.zeros_like(gradient)
    mean[indices] = values / dist.get_world_size()
    return mean

# %% wrong_senders: wrong, mean_of_senders, levels 0 0 0
def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    full = gradient + error
    at = full.abs().topk(k).indices
    values = full[at]
    error.copy_(full)
    error[at] = 0
    vs = [torch.empty_like(values) for _ in range(p)]
    ats = [torch.empty_like(at) for _ in range(p)]
    dist.all_gather(vs, values)
    dist.all_gather(ats, at)
    mean, count = torch.zeros_like(full), torch.zeros_like(full)
    for v, i in zip(vs, ats):
        mean[i] += v
        count[i] += 1
    return mean / count.clamp(min=1)

# %% wrong_sum (right_two_gathers): wrong, sum_for_mean, levels 0 0 0
-    return mean / p
+    return mean
