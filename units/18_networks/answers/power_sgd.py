# Right and wrong answers to `power_sgd`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_cholesky: passed
# differs: The columns are made orthonormal by a Cholesky factor of the small product, in place of a QR.
def power_sgd(gradient, q, error):
    full = torch.add(gradient, error)
    P = full @ q
    dist.all_reduce(P)
    L = torch.linalg.cholesky(P.T @ P)
    P = torch.linalg.solve_triangular(L, P.T, upper=False).T
    new = (P.T @ full).T.contiguous()
    dist.all_reduce(new)
    q.copy_(new / dist.get_world_size())
    out = P @ q.T
    torch.sub(full, out, out=error)
    return out

# %% right_gram_schmidt: passed
def power_sgd(gradient, q, error):
    error += gradient
    left = torch.mm(error, q)
    dist.all_reduce(left, op=dist.ReduceOp.AVG)
    for i in range(left.shape[1]):
        for j in range(i):
            left[:, i] -= (left[:, j] @ left[:, i]) * left[:, j]
        left[:, i] /= left[:, i].norm()
    new = torch.mm(error.t(), left)
    dist.all_reduce(new, op=dist.ReduceOp.AVG)
    q[:] = new
    approximation = torch.mm(left, new.t())
    error -= approximation
    return approximation

# %% right_qr: passed
def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    full = gradient + error
    left = full @ q
    dist.all_reduce(left)
    left = torch.linalg.qr(left)[0]
    right = full.T @ left
    dist.all_reduce(right)
    q.copy_(right / p)
    mean = left @ q.T
    error.copy_(full - mean)
    return mean

# %% right_svd_basis: passed
def power_sgd(gradient, q, error):
    m = (gradient + error) / dist.get_world_size()
    left = m @ q
    dist.all_reduce(left)
    u, _, _ = torch.linalg.svd(left, full_matrices=False)
    right = u.T @ m
    request = dist.all_reduce(right, async_op=True)
    request.wait()
    q.copy_(right.T)
    mean = u @ right
    error += gradient - mean
    return mean

# %% wrong_cold (right_qr): wrong, starts_again, levels 0 0 0
-    q.copy_(right / p)
-    mean = left @ q.T
+    mean = left @ right.T / p

# %% wrong_column_by_column (right_qr): wrong, too_many_collectives, levels 1 1 0
-    dist.all_reduce(left)
+    left = left.T.contiguous()
+    for column in left:
+        dist.all_reduce(column)
+    left = left.T

# %% wrong_columns_alone: wrong, columns_alone, levels 0 0 0
def power_sgd(gradient, q, error):
    full = gradient + error
    P = full @ q
    dist.all_reduce(P, op=dist.ReduceOp.AVG)
    P /= P.norm(dim=0)
    new = full.T @ P
    dist.all_reduce(new, op=dist.ReduceOp.AVG)
    q.copy_(new)
    out = P @ new.T
    error.copy_(full - out)
    return out

# %% wrong_data_replaced (right_qr): wrong, rebinds, levels 0 0 0
-    q.copy_(right / p)
-    mean = left @ q.T
-    error.copy_(full - mean)
+    mean = left @ right.T / p
+    q.data = right / p
+    error.data = full - mean

# %% wrong_dense (right_qr): wrong, too_many_bytes, levels 1 1 0
-    left = full @ q
-    dist.all_reduce(left)
+    whole = full.clone()
+    dist.all_reduce(whole)
+    left = whole @ q
@@
-    right = full.T @ left
-    dist.all_reduce(right)
+    right = whole.T @ left

# %% wrong_float32 (right_qr): wrong, lost_digits, levels 0 0 0
     full = gradient + error
+    full = full.float().double()

# %% wrong_forgets (right_qr): wrong, forgets_older_errors, levels 1 0 0
-    error.copy_(full - mean)
+    error.copy_(gradient - mean)

# %% wrong_gathers_factors: wrong, too_many_bytes, levels 1 1 0
def power_sgd(gradient, q, error):
    p = dist.get_world_size()

    def mean_of(x):
        parts = [torch.empty_like(x) for _ in range(p)]
        dist.all_gather(parts, x.contiguous())
        return sum(parts) / p

    full = gradient + error
    left, _ = torch.linalg.qr(mean_of(full @ q))
    q.copy_(mean_of(full.T @ left))
    error.copy_(full - left @ q.T)
    return left @ q.T

# %% wrong_in_place: wrong, modifies_input, levels 1 0 0
def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    gradient += error
    left = gradient @ q
    dist.all_reduce(left)
    left = torch.linalg.qr(left)[0]
    right = gradient.T @ left
    dist.all_reduce(right)
    q.copy_(right / p)
    error.copy_(gradient - left @ q.T)
    return left @ q.T

# %% wrong_left_of_one (right_qr): wrong, never_summed_left, levels 0 0 0
-    dist.all_reduce(left)
+    dist.broadcast(left, 0)

# %% wrong_no_feedback (right_qr): wrong, drops_the_error, levels 0 0 0
-    full = gradient + error
+    full = gradient
@@
-    error.copy_(full - mean)

# %% wrong_not_orthogonal (right_qr): wrong, not_orthogonal, levels 0 0 0
-    left = torch.linalg.qr(left)[0]
+    left /= p

# %% wrong_own_error: wrong, error_of_own_factor, levels 0 0 0
def power_sgd(gradient, q, error):
    full = gradient + error
    P = full @ q
    dist.all_reduce(P, op=dist.ReduceOp.AVG)
    P, _ = torch.linalg.qr(P)
    new = full.T @ P
    error.copy_(full - P @ new.T)
    dist.all_reduce(new, op=dist.ReduceOp.AVG)
    q.copy_(new)
    return P @ new.T

# %% wrong_own_q: wrong, own_q, levels 0 0 0
def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    matrix = gradient + error
    left = matrix @ q
    dist.all_reduce(left)
    left /= p
    left, _ = torch.linalg.qr(left)
    right = matrix.T @ left
    q.copy_(right)
    dist.all_reduce(right)
    right /= p
    approximation = left @ right.T
    error.copy_(matrix - approximation)
    return approximation

# %% wrong_q_orthonormal_too (right_qr): wrong, orthonormal_q, levels 0 0 0
-    q.copy_(right / p)
-    mean = left @ q.T
+    mean = left @ (right / p).T
+    q.copy_(torch.linalg.qr(right / p)[0])

# %% wrong_rebinds (right_qr): wrong, starts_again, levels 0 0 0
-    q.copy_(right / p)
+    q = right / p

# %% wrong_rebinds_both: wrong, rebinds, levels 0 0 0
def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    matrix = gradient + error
    left = matrix @ q
    dist.all_reduce(left)
    left /= p
    left, _ = torch.linalg.qr(left)
    right = matrix.T @ left
    dist.all_reduce(right)
    right /= p
    approximation = left @ right.T
    q = right
    error = matrix - approximation
    return approximation

# %% wrong_sum (right_qr): wrong, sum_for_mean, levels 0 0 0
-    q.copy_(right / p)
+    q.copy_(right)

# %% wrong_sum_in_q: wrong, sum_in_q, levels 0 0 0
def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    m = gradient + error
    left = m @ q
    dist.all_reduce(left)
    left = torch.linalg.qr(left)[0]
    right = (m.T @ left).contiguous()
    dist.all_reduce(right)
    mean = left @ right.T / p
    q.copy_(right)
    error.copy_(m - mean)
    return mean

# %% wrong_too_soon: wrong, orthonormal_too_soon, levels 0 0 0
def power_sgd(gradient, q, error):
    full = gradient + error
    P, _ = torch.linalg.qr(full @ q)
    dist.all_reduce(P, op=dist.ReduceOp.AVG)
    new = full.T @ P
    dist.all_reduce(new, op=dist.ReduceOp.AVG)
    q.copy_(new)
    out = P @ new.T
    error.copy_(full - out)
    return out
