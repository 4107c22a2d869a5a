# Right and wrong answers to `diloco`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_by_hand: passed
def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    p = dist.get_world_size()
    start, velocity = w.clone(), torch.zeros_like(w)
    w = start.clone()
    for step in range(1, steps + 1):
        w -= lr * gradient(w)
        if step % every == 0 or step == steps:
            delta = start - w
            dist.all_reduce(delta)
            delta /= p
            velocity = mu * velocity + delta
            start -= outer_lr * (delta + mu * velocity)
            w = start.clone()
    return start

# %% right_optimizer: passed
# differs: The outer step is torch's own SGD with momentum, whose gradient is how far the ranks have moved.
def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    outer = torch.nn.Parameter(w.clone())
    optimizer = torch.optim.SGD([outer], lr=outer_lr, momentum=mu, nesterov=mu > 0)
    done = 0
    while done < steps:
        inner = outer.detach().clone()
        for _ in range(min(every, steps - done)):
            inner = inner - lr * gradient(inner)
            done += 1
        dist.all_reduce(inner, op=dist.ReduceOp.AVG)
        outer.grad = outer.detach() - inner
        optimizer.step()
    return outer.detach()

# %% wrong_averages: wrong, averages_only, levels 1 0 0
def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    p = dist.get_world_size()
    w = w.clone()
    for step in range(1, steps + 1):
        w -= lr * gradient(w)
        if step % every == 0 or step == steps:
            dist.all_reduce(w)
            w /= p
    return w

# %% wrong_begins_again (right_by_hand): wrong, momentum_begins_again, levels 1 0 0
-            velocity = mu * velocity + delta
+            velocity = mu * torch.zeros_like(w) + delta

# %% wrong_both_travel (right_by_hand): wrong, too_many_bytes, levels 1 1 0
-            delta = start - w
-            dist.all_reduce(delta)
-            delta /= p
+            both = torch.cat([start - w, velocity])
+            dist.all_reduce(both, op=dist.ReduceOp.AVG)
+            delta, velocity = both.split(len(w))

# %% wrong_every_step (right_by_hand): wrong, averages_in_every_step, levels 0 0 0
         w -= lr * gradient(w)
+        dist.all_reduce(w, op=dist.ReduceOp.AVG)

# %% wrong_every_step_a_round: wrong, goes_on_from_its_own, levels 1 0 1
def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    start, v = w.clone(), torch.zeros_like(w)
    local = start.clone()
    for step in range(1, steps + 1):
        if step % every == 1:  # a round begins
            local = start.clone()
        local = local - lr * gradient(local)
        if step % every == 0 or step == steps:
            mean = local.clone()
            dist.all_reduce(mean)
            delta = start - mean / dist.get_world_size()
            v = mu * v + delta
            start = start - outer_lr * (delta + mu * v)
    return start

# %% wrong_first (right_by_hand): wrong, measures_from_the_first, levels 1 0 0
-            start -= outer_lr * (delta + mu * velocity)
-            w = start.clone()
-    return start
+            w = start - outer_lr * (delta + mu * velocity)
+    return w

# %% wrong_float32 (right_by_hand): wrong, lost_digits, levels 0 0 0
             delta = start - w
+            delta = delta.float()

# %% wrong_gradient_at_start (right_by_hand): wrong, gradient_of_the_start, levels 0 0 0
-        w -= lr * gradient(w)
+        w -= lr * gradient(start)

# %% wrong_heavy_ball (right_by_hand): wrong, heavy_ball, levels 1 0 0
-            start -= outer_lr * (delta + mu * velocity)
+            start -= outer_lr * velocity

# %% wrong_in_place (right_by_hand): wrong, modifies_input, levels 0 0 0
-    w = start.clone()

# %% wrong_inner_continues (right_by_hand): wrong, goes_on_from_the_mean, levels 1 0 0
-            w = start.clone()
+            dist.all_reduce(w, op=dist.ReduceOp.AVG)

# %% wrong_mean_without_momentum: wrong, averages_only, levels 1 0 1
def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    # start of a round kept only where there is momentum
    p, start, v = dist.get_world_size(), w.clone(), torch.zeros_like(w)
    rounds = [every] * (steps // every) + [steps % every] * (steps % every > 0)
    for n in rounds:
        local = start.clone()
        for _ in range(n):
            local -= lr * gradient(local)
        dist.all_reduce(local)
        local /= p
        if mu == 0:
            start = local
            continue
        delta = start - local
        v = mu * v + delta
        start = start - outer_lr * (delta + mu * v)
    return start

# %% wrong_momentum_travels (right_by_hand): wrong, too_many_collectives, levels 1 1 0
             velocity = mu * velocity + delta
+            dist.all_reduce(velocity, op=dist.ReduceOp.AVG)

# %% wrong_no_copy: wrong, start_moves, levels 1 0 0
def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    start, v = w.clone(), torch.zeros_like(w)
    local = start
    for k in range(1, steps + 1):
        local -= lr * gradient(local)
        if k % every == 0 or k == steps:
            mean = local.clone()
            dist.all_reduce(mean, op=dist.ReduceOp.AVG)
            delta = start - mean
            v = mu * v + delta
            start = start - outer_lr * (delta + mu * v)
            local = start
    return start

# %% wrong_no_momentum (right_by_hand): wrong, no_momentum, levels 1 0 0
-            start -= outer_lr * (delta + mu * velocity)
+            start -= outer_lr * delta

# %% wrong_one_more: wrong, one_outer_step_too_many, levels 1 0 0
def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    start, v = w.clone(), torch.zeros_like(w)
    local = start.clone()

    def outer(start, v, local):
        dist.all_reduce(local, op=dist.ReduceOp.AVG)
        delta = start - local
        v = mu * v + delta
        return start - outer_lr * (delta + mu * v), v

    for k in range(1, steps + 1):
        local -= lr * gradient(local)
        if k % every == 0:
            start, v = outer(start, v, local)
            local = start.clone()
    return outer(start, v, local)[0]

# %% wrong_own (right_by_hand): wrong, goes_on_from_its_own, levels 0 0 0
-            w = start.clone()

# %% wrong_reduces_to_one (right_by_hand): wrong, too_many_collectives, levels 1 1 0
-            dist.all_reduce(delta)
+            dist.reduce(delta, 0)
+            dist.broadcast(delta, 0)

# %% wrong_rounds_only: wrong, skips_the_rest, levels 0 0 1
def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    start, velocity = w.clone(), torch.zeros_like(w)
    for _ in range(steps // every):
        local = start.clone()
        for _ in range(every):
            local = local - lr * gradient(local)
        delta = start - local
        dist.all_reduce(delta)
        delta /= dist.get_world_size()
        velocity = mu * velocity + delta
        start = start - outer_lr * (delta + mu * velocity)
    return start

# %% wrong_short (right_by_hand): wrong, drops_the_short_round, levels 0 0 1
-        if step % every == 0 or step == steps:
+        if step % every == 0:
@@
-    return start
+    return w

# %% wrong_sign (right_by_hand): wrong, wrong_sign, levels 0 0 0
-            delta = start - w
+            delta = w - start

# %% wrong_sum (right_by_hand): wrong, sum_for_mean, levels 0 0 0
-            delta /= p

# %% wrong_sum_not_mean (right_by_hand): wrong, sum_of_the_weights, levels 0 0 0
         if step % every == 0 or step == steps:
+            dist.all_reduce(w)
@@
-            dist.all_reduce(delta)
-            delta /= p

# %% wrong_twice (right_by_hand): wrong, computes_too_much, levels 0 0 0
-        w -= lr * gradient(w)
+        if gradient(w).abs().max() > 0:
+            w -= lr * gradient(w)

# %% wrong_whole_last_round: wrong, whole_last_round, levels 0 0 1
import math


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    start, v = w.clone(), torch.zeros_like(w)
    for _ in range(math.ceil(steps / every)):
        local = start.clone()
        for _ in range(every):
            local -= lr * gradient(local)
        dist.all_reduce(local, op=dist.ReduceOp.AVG)
        delta = start - local
        v = mu * v + delta
        start = start - outer_lr * (delta + mu * v)
    return start
