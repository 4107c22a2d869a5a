# Right and wrong answers to `one_f_one_b`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_by_order: passed
# differs: The order says what to do, and the loop only does it: the same loop would run any other order.
def one_f_one_b(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    kept, works, total = {}, [], 0.0
    for what, k in order_1f1b(rank, p, m):
        if what == "F":
            x = xs[k] if rank == 0 else torch.empty(shape, dtype=torch.float64)
            if rank > 0:
                dist.recv(x, rank - 1)
                x.requires_grad_()
            out = block(x)
            kept[k] = x, out
            if rank < p - 1:
                works.append(dist.isend(out.detach(), rank + 1))
        else:
            x, out = kept.pop(k)
            if rank == p - 1:
                loss = loss_of(out, ys[k]) / m
                total += loss.item()
                loss.backward()
            else:
                g = torch.empty(shape, dtype=torch.float64)
                dist.recv(g, rank + 1)
                out.backward(g)
            if rank > 0:
                works.append(dist.isend(x.grad, rank - 1))
    for work in works:
        work.wait()
    return total if rank == p - 1 else None

# %% right_loops: passed
def one_f_one_b(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    kept, works, losses = [], [], []

    def forward(k):
        if rank == 0:
            x = xs[k]
        else:
            x = torch.empty(*shape, dtype=torch.double)
            dist.irecv(x, rank - 1).wait()
            x.requires_grad = True
        out = block(x)
        if rank < p - 1:
            works.append(dist.isend(out.detach(), rank + 1))
        kept.append((x, out))

    def backward(k):
        x, out = kept.pop(0)
        if rank == p - 1:
            loss = loss_of(out, ys[k])
            losses.append(loss.item())
            loss.backward(torch.tensor(1 / m, dtype=loss.dtype))
        else:
            g = torch.empty_like(out)
            dist.recv(g, rank + 1)
            out.backward(g)
        if rank > 0:
            works.append(dist.isend(x.grad, rank - 1))

    warm = min(p - 1 - rank, m)
    for k in range(warm):
        forward(k)
    for k in range(m - warm):
        forward(warm + k)
        backward(k)
    for k in range(m - warm, m):
        backward(k)
    for work in works:
        work.wait()
    if rank == p - 1:
        return sum(losses) / m

# %% wrong_all_forward_first (right_by_order): wrong, holds_too_many, levels 0 0
-    for what, k in order_1f1b(rank, p, m):
+    for what, k in [(what, k) for what in "FB" for k in range(m)]:

# %% wrong_all_reduce (right_by_order): wrong, reduced_over_ranks, levels 0 0
         work.wait()
+    for q in block.parameters():
+        dist.all_reduce(q.grad)

# %% wrong_barrier_at_the_end (right_by_order): wrong, uses_collective, levels 0 0
         work.wait()
+    dist.barrier()

# %% wrong_blocking (right_by_order): hung, unsafe_send, levels 0 0
-                works.append(dist.isend(out.detach(), rank + 1))
+                dist.send(out.detach(), rank + 1)
@@
-                works.append(dist.isend(x.grad, rank - 1))
+                dist.send(x.grad, rank - 1)

# %% wrong_gradient_of_the_inputs (right_by_order): raised, RuntimeError, levels 0 1
-            x = xs[k] if rank == 0 else torch.empty(shape, dtype=torch.float64)
+            x = xs[k].clone() if rank == 0 else torch.empty(shape, dtype=torch.float64)
@@
-                x.requires_grad_()
+            x.requires_grad_()

# %% wrong_half_warm_up (right_by_order): wrong, waits_too_long, levels 0 1
+def half(rank, p, m):
+    warm = min(m, (p - rank) // 2)
+    order = [("F", k) for k in range(warm)]
+    for k in range(m):
+        order += [("F", warm + k)] * (warm + k < m) + [("B", k)]
+    return order
+
+
 def one_f_one_b(block, loss_of, xs, ys, m, shape):
@@
-    for what, k in order_1f1b(rank, p, m):
+    for what, k in half(rank, p, m):

# %% wrong_inside_the_block (right_by_order): wrong, goes_past_the_block, levels 0 0
-            out = block(x)
+            out = torch.tanh(block.linear(x))

# %% wrong_last_kept (right_by_order): wrong, wrong_micro_batch, levels 0 0
-            x, out = kept.pop(k)
+            x, out = kept.pop(max(kept) if rank < p - 1 else k)

# %% wrong_last_mean (right_by_order): wrong, last_mean, levels 0 0
-                total += loss.item()
+                total = loss.item() * m

# %% wrong_not_divided (right_by_order): wrong, sum_of_means, levels 0 0
-                loss = loss_of(out, ys[k]) / m
+                loss = loss_of(out, ys[k])

# %% wrong_one_at_a_time (right_by_order): wrong, one_at_a_time, levels 0 0
-    for what, k in order_1f1b(rank, p, m):
+    for what, k in [(what, k) for k in range(m) for what in "FB"]:

# %% wrong_one_backward_missing (right_by_order): wrong, goes_past_the_block, levels 0 0
-    for what, k in order_1f1b(rank, p, m):
+    for what, k in order_1f1b(rank, p, m)[:-1]:

# %% wrong_one_buffer: wrong, one_buffer, levels 0 0
def one_f_one_b(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    kept, requests, total = {}, [], 0.0
    received = torch.empty(shape, dtype=torch.float64)
    for what, k in order_1f1b(rank, p, m):
        if what == "F":
            if rank == 0:
                x = xs[k]
            else:
                dist.recv(received, rank - 1)
                x = received.detach().requires_grad_()
            out = block(x)
            kept[k] = x, out
            if rank < p - 1:
                requests.append(dist.isend(out.detach(), rank + 1))
            continue
        x, out = kept.pop(k)
        if rank == p - 1:
            loss = loss_of(out, ys[k]) / m
            total += loss.item()
            loss.backward()
        else:
            g = torch.empty(shape, dtype=torch.float64)
            dist.recv(g, rank + 1)
            out.backward(g)
        if rank > 0:
            requests.append(dist.isend(x.grad, rank - 1))
    for request in requests:
        request.wait()
    return total if rank == p - 1 else None

# %% wrong_one_more_first (right_by_order): wrong, holds_too_many, levels 0 0
+def one_more(rank, p, m):
+    warm = min(m, p - rank)
+    order = [("F", k) for k in range(warm)]
+    for k in range(m):
+        order += [("F", warm + k)] * (warm + k < m) + [("B", k)]
+    return order
+
+
 def one_f_one_b(block, loss_of, xs, ys, m, shape):
@@
-    for what, k in order_1f1b(rank, p, m):
+    for what, k in one_more(rank, p, m):

# %% wrong_one_tensor (right_loops): wrong, one_tensor, levels 0 0
     kept, works, losses = [], [], []
+    buffer = torch.empty(*shape, dtype=torch.double)
@@
-            x = torch.empty(*shape, dtype=torch.double)
+            x = buffer
@@
-            works.append(dist.isend(x.grad, rank - 1))
+            works.append(dist.isend(x.grad.clone(), rank - 1))

# %% wrong_one_tensor_on_its_way (right_loops): wrong, reused_buffer, levels 0 0
     kept, works, losses = [], [], []
+    buffer = torch.empty(*shape, dtype=torch.double)
@@
-            x = torch.empty(*shape, dtype=torch.double)
+            x = buffer

# %% wrong_ones (right_by_order): wrong, own_gradient, levels 0 0
-                out.backward(g)
+                out.backward(torch.ones_like(out))

# %% wrong_over_p (right_by_order): wrong, divided_by_ranks, levels 0 0
-                loss = loss_of(out, ys[k]) / m
+                loss = loss_of(out, ys[k]) / p

# %% wrong_recomputes (right_by_order): wrong, computes_twice, levels 0 0
-                out.backward(g)
+                block(x).backward(g)

# %% wrong_retains_the_graph (right_by_order): wrong, keeps_the_graph, levels 0 0
-            x, out = kept.pop(k)
+            x, out = kept[k]
@@
-                loss.backward()
+                loss.backward(retain_graph=True)
@@
-                out.backward(g)
+                out.backward(g, retain_graph=True)

# %% wrong_sends_losses (right_by_order): wrong, more_than_neighbours, levels 0 0
         work.wait()
+    said = torch.tensor(total)
+    dist.all_reduce(said)

# %% wrong_unwaited (right_by_order): wrong, forgot_wait, levels 0 0
-    for work in works:
-        work.wait()

# %% wrong_zero_grad (right_by_order): wrong, one_micro_batch, levels 0 0
             x, out = kept.pop(k)
+            block.zero_grad()
