# Right and wrong answers to `gpipe`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_backwards_in_reverse: passed
# differs: The backward passes run in the reverse order: as fast, and the activations of the last micro-batch go first.
def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    inputs, outs, works, total = [], [], [], 0.0
    for k in range(m):
        if rank == 0:
            x = xs[k]
        else:
            x = torch.empty(shape, dtype=torch.float64)
            dist.recv(x, rank - 1)
            x.requires_grad_()
        out = block(x)
        if rank < p - 1:
            works.append(dist.isend(out.detach(), rank + 1))
        inputs.append(x)
        outs.append(out)
    for k in reversed(range(m)):
        if rank == p - 1:
            loss = loss_of(outs[k], ys[k]) / m
            total += loss.item()
            loss.backward()
        else:
            g = torch.empty(shape, dtype=torch.float64)
            dist.recv(g, rank + 1)
            outs[k].backward(g)
        if rank > 0:
            works.append(dist.isend(inputs[k].grad, rank - 1))
    for work in works:
        work.wait()
    return total if rank == p - 1 else None

# %% right_blocking: passed
def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    inputs, outs, total = [], [], 0.0
    for k in range(m):
        if rank == 0:
            x = xs[k]
        else:
            x = torch.empty(shape, dtype=torch.float64)
            dist.recv(x, rank - 1)
            x.requires_grad_()
        out = block(x)
        if rank < p - 1:
            dist.send(out.detach(), rank + 1)
        inputs.append(x)
        outs.append(out)
    for k in range(m):
        if rank == p - 1:
            loss = loss_of(outs[k], ys[k]) / m
            total += loss.item()
            loss.backward()
        else:
            g = torch.empty(shape, dtype=torch.float64)
            dist.recv(g, rank + 1)
            outs[k].backward(g)
        if rank > 0:
            dist.send(inputs[k].grad, rank - 1)
    return total if rank == p - 1 else None

# %% right_isend: passed
def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    inputs, outs, works, total = [], [], [], 0.0
    for k in range(m):
        if rank == 0:
            x = xs[k]
        else:
            x = torch.empty(shape, dtype=torch.float64)
            dist.recv(x, rank - 1)
            x.requires_grad_()
        out = block(x)
        if rank < p - 1:
            works.append(dist.isend(out.detach(), rank + 1))
        inputs.append(x)
        outs.append(out)
    for k in range(m):
        if rank == p - 1:
            loss = loss_of(outs[k], ys[k]) / m
            total += loss.item()
            loss.backward()
        else:
            g = torch.empty(shape, dtype=torch.float64)
            dist.recv(g, rank + 1)
            outs[k].backward(g)
        if rank > 0:
            works.append(dist.isend(inputs[k].grad, rank - 1))
    for work in works:
        work.wait()
    return total if rank == p - 1 else None

# %% right_one_f_one_b: passed
def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    kept, works, total, forward, backward = {}, [], 0.0, 0, 0
    while backward < m:
        if forward < m and forward - backward < p - rank:
            x = xs[forward] if rank == 0 else torch.empty(shape, dtype=torch.float64)
            if rank:
                dist.recv(x, rank - 1)
                x.requires_grad_()
            kept[forward] = x, block(x)
            if rank < p - 1:
                works.append(dist.isend(kept[forward][1].detach(), rank + 1))
            forward += 1
        else:
            x, out = kept.pop(backward)
            if rank == p - 1:
                loss = loss_of(out, ys[backward]) / m
                total += float(loss)
                loss.backward()
            else:
                g = torch.empty(shape, dtype=torch.float64)
                dist.recv(g, rank + 1)
                out.backward(g)
            if rank:
                works.append(dist.isend(x.grad, rank - 1))
            backward += 1
    for work in works:
        work.wait()
    return total if rank == p - 1 else None

# %% right_tags_and_autograd: passed
def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    first, last = rank == 0, rank == p - 1
    coming = [None if first else torch.zeros(shape, dtype=torch.float64) for _ in range(m)]
    requests = [] if first else [dist.irecv(x, rank - 1, tag=k) for k, x in enumerate(coming)]
    gradients = [None if last else torch.zeros(shape, dtype=torch.float64) for _ in range(m)]
    losses, kept, sent = [], [], []
    back = [] if last else [dist.irecv(g, rank + 1, tag=m + k) for k, g in enumerate(gradients)]
    for k in range(m):
        if not first:
            requests[k].wait()
        x = xs[k] if first else coming[k].requires_grad_(True)
        y = block(x)
        kept.append((x, y))
        if last:
            losses.append(loss_of(y, ys[k]) / m)
        else:
            sent.append(dist.isend(y.detach().clone(), rank + 1, tag=k))
    for k, (x, y) in enumerate(kept):
        if last:
            torch.autograd.backward(losses[k])
        else:
            back[k].wait()
            torch.autograd.backward(y, gradients[k])
        if not first:
            sent.append(dist.isend(x.grad, rank - 1, tag=m + k))
    [one.wait() for one in sent]
    return sum(losses).item() if last else None

# %% wrong_all_reduce (right_isend): wrong, reduced_over_ranks, levels 0 0
         work.wait()
+    for q in block.parameters():
+        dist.all_reduce(q.grad)

# %% wrong_as_large_as_the_input (right_isend): hung, mismatched_dtype, levels 0 1
-            g = torch.empty(shape, dtype=torch.float64)
+            g = torch.empty_like(inputs[k])  # as large as what went in

# %% wrong_barrier_at_the_end (right_backwards_in_reverse): wrong, uses_collective, levels 0 0
         work.wait()
+    dist.barrier()

# %% wrong_float32 (right_isend): wrong, lost_digits, levels 0 0
-            x = torch.empty(shape, dtype=torch.float64)
+            x = torch.empty(shape)
@@
-            x.requires_grad_()
+            x = x.double().requires_grad_()
@@
-            works.append(dist.isend(out.detach(), rank + 1))
+            works.append(dist.isend(out.detach().float(), rank + 1))

# %% wrong_forgets_requires_grad (right_isend): raised, TypeError, levels 0 0
-            x.requires_grad_()

# %% wrong_gradient_of_the_inputs (right_isend): raised, RuntimeError, levels 0 1
-            x = xs[k]
+            x = xs[k].clone()
@@
-            x.requires_grad_()
+        x.requires_grad_()

# %% wrong_inside_the_block (right_isend): wrong, goes_past_the_block, levels 0 0
-        out = block(x)
+        out = torch.tanh(block.linear(x))

# %% wrong_last_mean (right_blocking): wrong, last_mean, levels 0 0
-            total += loss.item()
+            total = loss.item() * m

# %% wrong_last_rank_at_once (right_backwards_in_reverse): wrong, waits_too_long, levels 0 0
         outs.append(out)
+    if rank == p - 1:
+        losses = [loss_of(out, y) / m for out, y in zip(outs, ys)]
+        total = sum(one.item() for one in losses)
+        sum(losses).backward()
@@
-        if rank == p - 1:
-            loss = loss_of(outs[k], ys[k]) / m
-            total += loss.item()
-            loss.backward()
-        else:
+        if rank < p - 1:

# %% wrong_loss_float32 (right_backwards_in_reverse): wrong, lost_digits, levels 0 0
-    inputs, outs, works, total = [], [], [], 0.0
+    inputs, outs, works, total = [], [], [], torch.zeros(())
@@
-            total += loss.item()
+            total += loss.detach()
@@
-    return total if rank == p - 1 else None
+    return float(total) if rank == p - 1 else None

# %% wrong_loss_forgotten (right_isend): wrong, returns_nothing, levels 0 0
-    return total if rank == p - 1 else None
+    return None

# %% wrong_loss_of_the_last (right_isend): wrong, last_loss, levels 0 0
-            total += loss.item()
+            total = loss.item()

# %% wrong_loss_summed (right_isend): wrong, sum_of_losses, levels 0 0
-            total += loss.item()
+            total += loss.item() * m

# %% wrong_no_grad (right_isend): wrong, goes_past_the_block, levels 0 0
-        out = block(x)
+        out = block(x) if rank == p - 1 else torch.tanh(block.linear(x))

# %% wrong_not_divided (right_isend): wrong, sum_of_means, levels 0 0
-            loss = loss_of(outs[k], ys[k]) / m
+            loss = loss_of(outs[k], ys[k])

# %% wrong_one_at_a_time: wrong, one_at_a_time, levels 0 0
def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    total = 0.0
    for k in range(m):
        x = xs[k] if rank == 0 else torch.empty(shape, dtype=torch.float64)
        if rank > 0:
            dist.recv(x, rank - 1)
            x.requires_grad_()
        out = block(x)
        if rank < p - 1:
            dist.send(out.detach(), rank + 1)
            g = torch.empty(shape, dtype=torch.float64)
            dist.recv(g, rank + 1)
            out.backward(g)
        else:
            loss = loss_of(out, ys[k]) / m
            total += loss.item()
            loss.backward()
        if rank > 0:
            dist.send(x.grad, rank - 1)
    return total if rank == p - 1 else None

# %% wrong_one_buffer (right_isend): wrong, reused_buffer, levels 0 0
     inputs, outs, works, total = [], [], [], 0.0
+    buffer = torch.empty(shape, dtype=torch.float64)
@@
-            x = torch.empty(shape, dtype=torch.float64)
+            x = buffer

# %% wrong_one_buffer_detached (right_isend): wrong, one_buffer, levels 0 0
     inputs, outs, works, total = [], [], [], 0.0
+    received = torch.empty(shape, dtype=torch.float64)
@@
-            x = torch.empty(shape, dtype=torch.float64)
-            dist.recv(x, rank - 1)
-            x.requires_grad_()
+            dist.recv(received, rank - 1)
+            x = received.detach().requires_grad_()

# %% wrong_one_tensor (right_isend): wrong, one_tensor, levels 0 0
     inputs, outs, works, total = [], [], [], 0.0
+    buffer = torch.empty(shape, dtype=torch.float64)
@@
-            x = torch.empty(shape, dtype=torch.float64)
+            x = buffer
@@
-            works.append(dist.isend(inputs[k].grad, rank - 1))
+            dist.send(inputs[k].grad, rank - 1)

# %% wrong_ones (right_isend): wrong, own_gradient, levels 0 0
-            outs[k].backward(g)
+            outs[k].sum().backward()

# %% wrong_over_p (right_blocking): wrong, divided_by_ranks, levels 0 0
-            loss = loss_of(outs[k], ys[k]) / m
+            loss = loss_of(outs[k], ys[k]) / p

# %% wrong_recomputes (right_isend): wrong, computes_twice, levels 0 0
-            outs[k].backward(g)
+            block(inputs[k]).backward(g)

# %% wrong_reverse_on_some (right_backwards_in_reverse): wrong, wrong_micro_batch, levels 0 0
-    for k in reversed(range(m)):
+    for k in range(m) if rank == p - 1 else reversed(range(m)):

# %% wrong_sends_to_all (right_isend): wrong, more_than_neighbours, levels 0 0
         work.wait()
+    whole = torch.stack([out.detach() for out in outs])
+    dist.broadcast(whole, src=p - 1)

# %% wrong_two_axes (right_isend): hung, mismatched_shape, levels 0 1
-            x = torch.empty(shape, dtype=torch.float64)
+            x = torch.empty(shape[0], shape[1], dtype=torch.float64)
@@
-            g = torch.empty(shape, dtype=torch.float64)
+            g = torch.empty(shape[0], shape[1], dtype=torch.float64)

# %% wrong_two_messages (right_isend): wrong, more_than_neighbours, levels 0 0
-            dist.recv(x, rank - 1)
+            for row in x:
+                dist.recv(row, rank - 1)
@@
-            works.append(dist.isend(out.detach(), rank + 1))
+            works += [dist.isend(row, rank + 1) for row in out.detach()]

# %% wrong_unwaited (right_isend): wrong, forgot_wait, levels 0 0
-    for work in works:
-        work.wait()

# %% wrong_waits_for_all (right_isend): wrong, waits_too_long, levels 0 0
-        if rank < p - 1:
-            works.append(dist.isend(out.detach(), rank + 1))
@@
         outs.append(out)
+    if rank < p - 1:
+        works = [dist.isend(out.detach(), rank + 1) for out in outs]

# %% wrong_zero_grad (right_isend): wrong, one_micro_batch, levels 0 0
             total += loss.item()
+            block.zero_grad()
@@
             dist.recv(g, rank + 1)
+            block.zero_grad()
