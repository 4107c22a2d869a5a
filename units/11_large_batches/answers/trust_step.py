# Right and wrong answers to `trust_step`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_gathers_squares: passed
# differs: The squares of all ranks are gathered in one call, and each takes the roots of the sums itself.
def trust_step(shards, updates, adapt, lr, trust):
    mine = torch.stack([x.square().sum() for pair in zip(shards, updates) for x in pair])
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    norms = torch.stack(every).sum(0).sqrt().view(-1, 2)
    for k in range(len(shards)):
        w, u = norms[k]
        shards[k].add_(updates[k], alpha=-lr * float(trust * w / u if adapt[k] and w * u != 0 else 1))

# %% right_in_turn: passed
def trust_step(shards, updates, adapt, lr, trust):
    k = len(shards)
    squares = shards[0].new_tensor([float(x.dot(x)) for x in [*shards, *updates]])
    work = dist.all_reduce(squares, async_op=True)
    work.wait()
    norm = squares**0.5
    ratio = torch.where((norm[:k] > 0) & (norm[k:] > 0) & torch.tensor(adapt), trust * norm[:k] / norm[k:], 1.0)
    for one, u, factor in zip(shards, updates, ratio):
        one -= lr * factor * u

# %% right_only_adapted: passed
def trust_step(shards, updates, adapt, lr, trust):
    chosen = [k for k, yes in enumerate(adapt) if yes]
    sums = torch.zeros(len(chosen), 2, dtype=torch.float64)
    for row, k in zip(sums, chosen):
        row[0], row[1] = shards[k] @ shards[k], updates[k] @ updates[k]
    dist.all_reduce(sums)
    for k in range(len(adapt)):
        factor = 1
        if k in chosen:
            w, u = sums[chosen.index(k)].sqrt()
            if w != 0 and u != 0:
                factor = trust * w / u
        shards[k] -= lr * factor * updates[k]

# %% right_stacked: passed
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([torch.stack([(x**2).sum() for x in part]) for part in (shards, updates)])
    dist.all_reduce(squares)
    norms = squares.sqrt().T.tolist()
    for w, u, adapted, (of_w, of_u) in zip(shards, updates, adapt, norms):
        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
        w.sub_(lr * factor * u)

# %% wrong_added (right_stacked): wrong, norms_added, levels 1 1 0
     squares = torch.stack([torch.stack([(x**2).sum() for x in part]) for part in (shards, updates)])
+    squares = squares.sqrt()
@@
-    norms = squares.sqrt().T.tolist()
+    norms = squares.T.tolist()

# %% wrong_all (right_stacked): wrong, adapts_all, levels 1 0 0
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = trust * of_w / of_u if of_w and of_u else 1.0

# %% wrong_almost_zero: wrong, small_is_zero, levels 0 1 0
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([(x * x).sum() for x in [*shards, *updates]])
    dist.all_reduce(squares)
    w_norms, u_norms = squares.sqrt().chunk(2)
    for w, u, adapted, w_norm, u_norm in zip(shards, updates, adapt, w_norms.tolist(), u_norms.tolist()):
        factor = trust * w_norm / u_norm if adapted and min(w_norm, u_norm) > 1e-8 else 1.0
        w.sub_(u, alpha=lr * factor)

# %% wrong_capped: wrong, capped, levels 0 1 0
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([(x * x).sum() for x in [*shards, *updates]])
    dist.all_reduce(squares)
    w_norms, u_norms = squares.sqrt().chunk(2)
    for w, u, adapted, w_norm, u_norm in zip(shards, updates, adapt, w_norms.tolist(), u_norms.tolist()):
        factor = min(trust * w_norm / u_norm, 10.0) if adapted and w_norm and u_norm else 1.0
        w.sub_(u, alpha=lr * factor)

# %% wrong_capped_at_one: wrong, capped_at_one, levels 0 1 0
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.tensor([[float(w @ w), float(u @ u)] for w, u in zip(shards, updates)], dtype=torch.float64)
    dist.all_reduce(squares)
    for w, u, own, (a, b) in zip(shards, updates, adapt, squares.sqrt().tolist()):
        factor = min(1.0, trust * a / b) if own and a > 0 and b > 0 else 1.0
        w -= lr * factor * u

# %% wrong_copies (right_stacked): wrong, not_changed, levels 0 0 0
-        w.sub_(lr * factor * u)
+        w = w - lr * factor * u

# %% wrong_each: wrong, too_many_collectives, levels 1 1 0
def trust_step(shards, updates, adapt, lr, trust):
    for w, u, adapted in zip(shards, updates, adapt):
        squares = torch.stack([(w * w).sum(), (u * u).sum()])
        dist.all_reduce(squares)
        of_w, of_u = squares.sqrt()
        factor = trust * of_w / of_u if adapted and of_w > 0 and of_u > 0 else 1.0
        w -= lr * factor * u

# %% wrong_eps_in_the_norm: wrong, eps_added, levels 0 1 1
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([(x * x).sum() for x in [*shards, *updates]])
    dist.all_reduce(squares)
    ws, us = squares.sqrt().chunk(2)
    for w, u, adapted, a, b in zip(shards, updates, adapt, ws.tolist(), us.tolist()):
        factor = trust * a / (b + 1e-12) if adapted and a > 0 and b > 0 else 1.0
        w.sub_(u, alpha=lr * factor)

# %% wrong_float32 (right_stacked): wrong, lost_digits, levels 0 0 0
-        w.sub_(lr * factor * u)
+        w.sub_((lr * factor * u).float())

# %% wrong_gathers: wrong, too_many_collectives, levels 1 1 0
def trust_step(shards, updates, adapt, lr, trust):
    everything = [None] * dist.get_world_size()
    dist.all_gather_object(everything, [torch.cat([w, u]).tolist() for w, u in zip(shards, updates)])
    for k, (w, u, adapted) in enumerate(zip(shards, updates, adapt)):
        halves = [torch.tensor(one[k], dtype=w.dtype).chunk(2) if one[k] else (w[:0], u[:0]) for one in everything]
        of_w, of_u = (torch.cat([half[i] for half in halves]).norm() for i in (0, 1))
        factor = trust * of_w / of_u if adapted and of_w > 0 and of_u > 0 else 1.0
        w -= lr * factor * u

# %% wrong_gathers_padded: wrong, moves_too_much, levels 1 1 0
def trust_step(shards, updates, adapt, lr, trust):
    padded = shards[0].new_zeros(2 * len(shards), 100)
    for k, one in enumerate([*shards, *updates]):
        padded[k, : len(one)] = one
    every = [torch.empty_like(padded) for _ in range(dist.get_world_size())]
    dist.all_gather(every, padded)
    of_w, of_u = torch.cat(every, dim=1).norm(dim=1).chunk(2)
    for k, (w, u) in enumerate(zip(shards, updates)):
        adapted = adapt[k] and of_w[k] > 0 and of_u[k] > 0
        w -= lr * (trust * of_w[k] / of_u[k] if adapted else 1.0) * u

# %% wrong_no_trust (right_stacked): wrong, trust_forgotten, levels 0 0 0
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = of_w / of_u if adapted and of_w and of_u else 1.0

# %% wrong_no_update_norm (right_stacked): wrong, norm_forgotten, levels 0 0 0
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = trust * of_w if adapted and of_w and of_u else 1.0

# %% wrong_no_weight_norm (right_stacked): wrong, weights_forgotten, levels 0 0 0
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = trust / of_u if adapted and of_w and of_u else 1.0

# %% wrong_nothing_to_do: hung, missing_rank, levels 1 1 0
def trust_step(shards, updates, adapt, lr, trust):
    if not any(len(w) for w in shards):
        return
    squares = torch.stack([(x * x).sum() for x in [*shards, *updates]])
    dist.all_reduce(squares)
    w_norms, u_norms = squares.sqrt().chunk(2)
    for w, u, adapted, w_norm, u_norm in zip(shards, updates, adapt, w_norms.tolist(), u_norms.tolist()):
        factor = trust * w_norm / u_norm if adapted and w_norm and u_norm else 1.0
        w.sub_(u, alpha=lr * factor)

# %% wrong_one_ratio (right_stacked): wrong, one_ratio, levels 0 0 0
-    norms = squares.sqrt().T.tolist()
+    norms = [squares.sum(1).sqrt().tolist()] * len(adapt)

# %% wrong_other_tensors: wrong, not_changed, levels 0 0 0
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([t.square().sum() for t in (*shards, *updates)])
    dist.all_reduce(squares)
    ws, us = squares.sqrt().chunk(2)
    for k in range(len(shards)):
        factor = trust * ws[k] / us[k] if adapt[k] and ws[k] > 0 and us[k] > 0 else 1.0
        shards[k] = shards[k] - lr * factor * updates[k]

# %% wrong_own (right_stacked): wrong, own_norms, levels 1 1 0
-    dist.all_reduce(squares)

# %% wrong_own_zeros: wrong, own_zeros, levels 1 1 0
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([t.square().sum() for t in (*shards, *updates)])
    dist.all_reduce(squares)
    ws, us = squares.sqrt().chunk(2)
    for k in range(len(shards)):
        plain = not adapt[k] or not shards[k].any() or not updates[k].any()
        factor = 1.0 if plain else trust * ws[k] / us[k]
        shards[k] -= lr * factor * updates[k]

# %% wrong_plain (right_stacked): wrong, plain_step, levels 0 0 0
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = 1.0

# %% wrong_rate_forgotten: wrong, rate_forgotten, levels 0 0 0
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.tensor([[float(w @ w), float(u @ u)] for w, u in zip(shards, updates)], dtype=torch.float64)
    dist.all_reduce(squares)
    for w, u, own, (a, b) in zip(shards, updates, adapt, squares.sqrt().tolist()):
        factor = trust * a / b if own and a > 0 and b > 0 else 1.0
        w -= factor * u

# %% wrong_scales_updates: wrong, updates_changed, levels 0 0 0
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([t.square().sum() for t in (*shards, *updates)])
    dist.all_reduce(squares)
    ws, us = squares.sqrt().chunk(2)
    for k in range(len(shards)):
        factor = trust * ws[k] / us[k] if adapt[k] and ws[k] > 0 and us[k] > 0 else 1.0
        shards[k].sub_(updates[k].mul_(lr * factor))

# %% wrong_small_is_zero: wrong, small_is_zero, levels 0 1 1
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([(x * x).sum() for x in [*shards, *updates]])
    dist.all_reduce(squares)
    ws, us = squares.sqrt().chunk(2)
    for w, u, adapted, a, b in zip(shards, updates, adapt, ws.tolist(), us.tolist()):
        factor = trust * a / b if adapted and a > 0 and b > 1e-8 else 1.0
        w.sub_(u, alpha=lr * factor)

# %% wrong_squares (right_stacked): wrong, squares, levels 0 0 0
-    norms = squares.sqrt().T.tolist()
+    norms = squares.T.tolist()

# %% wrong_three_numbers: wrong, moves_too_much, levels 1 1 0
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.tensor([[float(w @ w), float(u @ u), len(w)] for w, u in zip(shards, updates)], dtype=torch.float64)
    dist.all_reduce(squares)
    for w, u, own, (a, b, _) in zip(shards, updates, adapt, squares.sqrt().tolist()):
        factor = trust * a / b if own and a > 0 and b > 0 else 1.0
        w -= lr * factor * u

# %% wrong_trust_always (right_stacked): wrong, trust_always, levels 1 0 0
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = trust * of_w / of_u if adapted and of_w and of_u else trust

# %% wrong_two_collectives (right_stacked): wrong, too_many_collectives, levels 1 1 0
-    dist.all_reduce(squares)
+    dist.all_reduce(squares[0])
+    dist.all_reduce(squares[1])

# %% wrong_uphill (right_stacked): wrong, uphill, levels 0 0 0
-        w.sub_(lr * factor * u)
+        w.add_(lr * factor * u)

# %% wrong_upside_down (right_stacked): wrong, upside_down, levels 0 0 0
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = trust * of_u / of_w if adapted and of_w and of_u else 1.0

# %% wrong_zero_divided (right_stacked): wrong, zero_divided, levels 1 0 1
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = trust * of_w / w.new_tensor(of_u) if adapted and of_w else 1.0

# %% wrong_zero_raises (right_stacked): raised, ZeroDivisionError, levels 1 0 1
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = trust * of_w / of_u if adapted and of_w else 1.0

# %% wrong_zero_stays (right_stacked): wrong, zero_stays, levels 1 0 1
-        factor = trust * of_w / of_u if adapted and of_w and of_u else 1.0
+        factor = trust * of_w / of_u if adapted and of_u else 1.0

# %% wrong_zeros_not_tested: wrong, zeros_not_tested, levels 1 0 1
def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.tensor([[float(w @ w), float(u @ u)] for w, u in zip(shards, updates)], dtype=torch.float64)
    dist.all_reduce(squares)
    for w, u, own, (a, b) in zip(shards, updates, adapt, squares.sqrt()):
        factor = trust * a / b if own else 1.0
        w -= lr * factor * u
