# Right and wrong answers to `zero3_forward_backward`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_divides_the_loss_gradient: passed
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own


def zero3_forward_backward(layers, x, loss_gradient):
    coming = gather(layers[0], True)
    for i, layer in enumerate(layers):
        weights, work = coming
        work.wait()
        if i + 1 < len(layers):
            coming = gather(layers[i + 1], True)
        x = layer.forward(weights, x)
        del weights
    g, shards = loss_gradient(x) / dist.get_world_size(), []
    coming = gather(layers[-1], True)
    for i in reversed(range(len(layers))):
        weights, work = coming
        work.wait()
        if i:
            coming = gather(layers[i - 1], True)
        g, gradient = layers[i].backward(weights, g)
        del weights
        shards.insert(0, scatter(gradient))
    return shards

# %% right_keeps_the_last_layer: passed
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def zero3_forward_backward(layers, x, loss_gradient):
    p = dist.get_world_size()
    weights = gather(layers[0])
    for here, above in zip(layers, layers[1:]):
        new, work = gather(above, True)
        x = here.forward(weights, x)
        work.wait()
        weights = new
        del new
    x = layers[-1].forward(weights, x)
    g, shards, summing = loss_gradient(x), [], None
    for i in reversed(range(len(layers))):
        if i:
            new, work = gather(layers[i - 1], True)
        g, gradient = layers[i].backward(weights, g)
        if summing:
            summing.wait()
        shards.append(gradient.new_empty(len(gradient) // p))
        summing = dist.reduce_scatter_single(shards[-1], gradient, async_op=True)
        if i:
            work.wait()
            weights = new
            del new
    summing.wait()
    return [own / p for own in shards[::-1]]

# %% right_keeps_the_last_two: passed
def zero3_forward_backward(layers, x, loss_gradient):
    """The backward pass begins where the forward pass ends: the last two layers are still there."""
    p, n = dist.get_world_size(), len(layers)
    whole, works = {}, {}

    def begin(i):
        if 0 <= i < n and i not in whole:
            whole[i] = torch.empty(p * len(layers[i].shard), dtype=x.dtype)
            works[i] = dist.all_gather_single(whole[i], layers[i].shard, async_op=True)

    def arrived(i):
        if i in works:
            works.pop(i).wait()
        return whole[i]

    begin(0)
    for i in range(n):
        arrived(i)
        begin(i + 1)
        x = layers[i].forward(whole[i], x)
        if i < n - 2:
            del whole[i]
    g, shards = loss_gradient(x), [None] * n
    for i in reversed(range(n)):
        arrived(i)
        begin(i - 1)
        g, gradient = layers[i].backward(whole.pop(i), g)
        shards[i] = torch.empty_like(layers[i].shard)
        dist.reduce_scatter_single(shards[i], gradient)
        shards[i] /= p
    return shards

# %% right_one_ahead: passed
# differs: While one layer computes, the next is already on its way, forward and back: two layers are whole at a time.
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    coming = gather(layers[0], True)
    for i, layer in enumerate(layers):
        weights, work = coming
        work.wait()
        if i + 1 < len(layers):
            coming = gather(layers[i + 1], True)
        x = layer.forward(weights, x)
        del weights
    g, shards = loss_gradient(x), []
    coming = gather(layers[-1], True)
    for i in reversed(range(len(layers))):
        weights, work = coming
        work.wait()
        if i:
            coming = gather(layers[i - 1], True)
        g, gradient = layers[i].backward(weights, g)
        del weights
        shards.insert(0, scatter(gradient))
    return shards

# %% right_pipelined_generator: passed
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    def in_order(them):
        ahead = None
        for layer in [*them, None]:
            now = ahead
            if now is not None:
                now[2].wait()
            ahead = (layer, *gather(layer, True)) if layer is not None else None
            if now is not None:
                yield now[0], now[1]
            now = None

    for layer, weights in in_order(layers):
        x = layer.forward(weights, x)
        weights = None
    g, shards = loss_gradient(x), [None] * len(layers)
    for k, (layer, weights) in enumerate(in_order(layers[::-1])):
        g, gradient = layer.backward(weights, g)
        weights = None
        shards[len(layers) - 1 - k] = scatter(gradient)
    return shards

# %% right_resized_storages: passed
def zero3_forward_backward(layers, x, loss_gradient):
    p = dist.get_world_size()
    full = [layer.shard.new_empty(p * len(layer.shard)) for layer in layers]
    size = [one.untyped_storage().nbytes() for one in full]
    for one in full:
        one.untyped_storage().resize_(0)

    def begin(i):
        full[i].untyped_storage().resize_(size[i])
        return dist.all_gather_single(full[i], layers[i].shard, async_op=True)

    work = begin(0)
    for i, layer in enumerate(layers):
        work.wait()
        if i + 1 < len(layers):
            work = begin(i + 1)
        x = layer.forward(full[i], x)
        full[i].untyped_storage().resize_(0)
    g, shards = loss_gradient(x), []
    work = begin(len(layers) - 1)
    for i in reversed(range(len(layers))):
        work.wait()
        if i:
            work = begin(i - 1)
        g, whole = layers[i].backward(full[i], g)
        full[i].untyped_storage().resize_(0)
        own = torch.empty_like(layers[i].shard)
        dist.reduce_scatter_single(own, whole)
        shards.insert(0, own / p)
    return shards

# %% right_two_buffers: passed
def zero3_forward_backward(layers, x, loss_gradient):
    p = dist.get_world_size()
    size = max(len(layer.shard) for layer in layers) * p
    room = [x.new_empty(size), x.new_empty(size)]

    def begin(layer, into):
        whole = room[into][: p * len(layer.shard)]
        return whole, dist.all_gather_single(whole, layer.shard, async_op=True)

    order = [*layers, *layers[::-1]]
    coming = begin(order[0], 0)
    gradients = []
    for i, layer in enumerate(order):
        weights, work = coming
        work.wait()
        if i + 1 < len(order):
            coming = begin(order[i + 1], (i + 1) % 2)
        if i < len(layers):
            x = layer.forward(weights, x)
            if i + 1 == len(layers):
                g = loss_gradient(x)
        else:
            g, whole = layer.backward(weights, g)
            own = torch.empty_like(layer.shard)
            dist.reduce_scatter_single(own, whole, op=dist.ReduceOp.AVG)
            gradients.append(own)
    return gradients[::-1]

# %% right_works_in_lists: passed
def zero3_forward_backward(layers, x, loss_gradient):
    p, n = dist.get_world_size(), len(layers)
    buffers, works = [None] * n, [None] * n

    def prefetch(i):
        if 0 <= i < n:
            buffers[i] = torch.empty(p * len(layers[i].shard), dtype=x.dtype)
            works[i] = dist.all_gather_single(buffers[i], layers[i].shard, async_op=True)

    prefetch(0)
    for i in range(n):
        works[i].wait()
        prefetch(i + 1)
        x = layers[i].forward(buffers[i], x)
        buffers[i] = works[i] = None
    grad = loss_gradient(x)
    result = [None] * n
    prefetch(n - 1)
    for i in range(n - 1, -1, -1):
        works[i].wait()
        prefetch(i - 1)
        grad, full = layers[i].backward(buffers[i], grad)
        buffers[i] = works[i] = None
        full = full / p
        result[i] = torch.empty_like(layers[i].shard)
        dist.reduce_scatter_single(result[i], full)
    return result

# %% wrong_ahead_forward_only (right_one_ahead): wrong, waits_for_every_gather, levels 1 1 1 0
         x = layer.forward(weights, x)
-        del weights
+    del weights, coming
@@
-    coming = gather(layers[-1], True)
-    for i in reversed(range(len(layers))):
-        weights, work = coming
-        work.wait()
-        if i:
-            coming = gather(layers[i - 1], True)
-        g, gradient = layers[i].backward(weights, g)
-        del weights
+    for layer in reversed(layers):
+        weights = gather(layer)
+        g, gradient = layer.backward(weights, g)

# %% wrong_all_reduces: wrong, moves_too_much, levels 1 0 1 0
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    for layer in layers:
        weights = gather(layer)
        x = layer.forward(weights, x)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        weights = gather(layer)
        g, gradient = layer.backward(weights, g)
        dist.all_reduce(gradient)
        shards.insert(0, gradient.chunk(dist.get_world_size())[dist.get_rank()] / dist.get_world_size())
    return shards

# %% wrong_as_long_as_the_longest: wrong, moves_too_much, levels 1 0 1 1
def zero3_forward_backward(layers, x, loss_gradient):
    p = dist.get_world_size()
    longest = max(len(layer.shard) for layer in layers)
    room = [x.new_empty(p, longest), x.new_empty(p, longest)]  # two buffers for all layers

    def begin(layer, into):
        mine = layer.shard.new_zeros(longest)
        mine[: len(layer.shard)] = layer.shard
        return dist.all_gather_single(room[into].view(-1), mine, async_op=True)

    def weights(layer, into):
        return room[into][:, : len(layer.shard)].reshape(-1)

    order = [*layers, *layers[::-1]]
    coming = begin(order[0], 0)
    gradients = []
    for i, layer in enumerate(order):
        coming.wait()
        if i + 1 < len(order):
            coming = begin(order[i + 1], (i + 1) % 2)
        if i < len(layers):
            x = layer.forward(weights(layer, i % 2), x)
            if i + 1 == len(layers):
                g = loss_gradient(x)
        else:
            g, whole = layer.backward(weights(layer, i % 2), g)
            own = torch.empty_like(layer.shard)
            dist.reduce_scatter_single(own, whole)
            gradients.append(own / p)
    return gradients[::-1]

# %% wrong_backward_order: wrong, reversed_layers, levels 0 0 0 0
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    for layer in layers:
        weights = gather(layer)
        x = layer.forward(weights, x)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        weights = gather(layer)
        g, gradient = layer.backward(weights, g)
        shards.append(scatter(gradient))
    return shards

# %% wrong_freed: raised, ValueError, levels 0 0 0 0
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    for layer in layers:
        weights = gather(layer)
        x = layer.forward(weights, x)
        weights.resize_(0)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        g, gradient = layer.backward(weights, g)
        shards.insert(0, scatter(gradient))
    return shards

# %% wrong_frees_after_the_next_gather (right_one_ahead): wrong, keeps_whole_layers, levels 1 1 0 1
     coming = gather(layers[0], True)
+    weights = None
@@
-        weights, work = coming
-        work.wait()
-        if i + 1 < len(layers):
-            coming = gather(layers[i + 1], True)
+        following = gather(layers[i + 1], True) if i + 1 < len(layers) else None
+        coming[1].wait()
+        weights, coming = coming[0], following
@@
         x = layer.forward(weights, x)
-        del weights
+    del weights, following

# %% wrong_gradients_until_the_end (right_one_ahead): wrong, keeps_full_gradients, levels 1 1 0 1
-        shards.insert(0, scatter(gradient))
-    return shards
+        shards.insert(0, gradient)
+    return [scatter(gradient) for gradient in shards]

# %% wrong_holds_on_to_works (right_works_in_lists): wrong, keeps_whole_layers, levels 1 1 0 1
         x = layers[i].forward(buffers[i], x)
-        buffers[i] = works[i] = None
+        buffers[i] = None
@@
         grad, full = layers[i].backward(buffers[i], grad)
-        buffers[i] = works[i] = None
+        buffers[i] = None

# %% wrong_mean_of_means (right_one_ahead): wrong, divided_twice, levels 0 0 0 0
-    dist.reduce_scatter_single(own, gradient)
+    dist.reduce_scatter_single(own, gradient, op=dist.ReduceOp.AVG)

# %% wrong_needs_a_second_layer: raised, IndexError, levels 0 1 1 1
def begun(layer):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    return whole, dist.all_gather_single(whole, layer.shard, async_op=True)


def zero3_forward_backward(layers, x, loss_gradient):
    p, last = dist.get_world_size(), len(layers) - 1
    weights, work = begun(layers[0])
    work.wait()
    coming = begun(layers[1])
    for i, layer in enumerate(layers):
        x = layer.forward(weights, x)
        if i < last:
            weights, work = coming
            work.wait()
            work = coming = None
            if i + 2 <= last:
                coming = begun(layers[i + 2])
    g, shards = loss_gradient(x), []
    for i in reversed(range(last + 1)):
        coming = begun(layers[i - 1]) if i else None
        g, gradient = layers[i].backward(weights, g)
        shards.insert(0, torch.empty_like(layers[i].shard))
        dist.reduce_scatter_single(shards[0], gradient)
        shards[0] /= p
        if i:
            weights, work = coming
            work.wait()
            work = coming = None
    return shards

# %% wrong_never_regathers: wrong, keeps_whole_layers, levels 1 1 0 0
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    kept = []
    for layer in layers:
        kept.append(gather(layer))
        x = layer.forward(kept[-1], x)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        g, gradient = layer.backward(kept.pop(), g)
        shards.insert(0, scatter(gradient))
    return shards

# %% wrong_one_memory (right_one_ahead): wrong, one_memory, levels 0 0 0 0
     return (whole, work) if async_op else whole


+rooms = {}
+
+
@@
-    own = gradient.new_empty(len(gradient) // p)
+    size = len(gradient) // p
+    own = rooms.setdefault(size, gradient.new_empty(size))
@@
-    return own / p
+    return own.div_(p)

# %% wrong_own: wrong, own_gradients, levels 0 0 0 0
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    for layer in layers:
        weights = gather(layer)
        x = layer.forward(weights, x)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        weights = gather(layer)
        g, gradient = layer.backward(weights, g)
        shards.insert(0, gradient.chunk(dist.get_world_size())[dist.get_rank()].clone())
    return shards

# %% wrong_shard_for_backward: raised, ValueError, levels 0 0 0 0
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    for layer in layers:
        weights = gather(layer)
        x = layer.forward(weights, x)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        weights = layer.shard
        g, gradient = layer.backward(weights, g)
        shards.insert(0, scatter(gradient))
    return shards

# %% wrong_sum: wrong, sum_for_mean, levels 0 0 0 0
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    for layer in layers:
        weights = gather(layer)
        x = layer.forward(weights, x)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        weights = gather(layer)
        g, gradient = layer.backward(weights, g)
        shards.insert(0, dist.get_world_size() * scatter(gradient))
    return shards

# %% wrong_turns_without_a_gather (right_keeps_the_last_layer): wrong, waits_for_every_gather, levels 1 1 1 0
-    g, shards, summing = loss_gradient(x), [], None
+    g, shards = loss_gradient(x), []
+    # the last layer is still there
+    coming = None
@@
-        if i:
-            new, work = gather(layers[i - 1], True)
+        if i < len(layers) - 1:
+            if coming is None:
+                coming = gather(layers[i], True)
+            weights, work = coming
+            work.wait()
+            del work, coming
+            coming = gather(layers[i - 1], True) if i else None
@@
-        if summing:
-            summing.wait()
-        shards.append(gradient.new_empty(len(gradient) // p))
-        summing = dist.reduce_scatter_single(shards[-1], gradient, async_op=True)
-        if i:
-            work.wait()
-            weights = new
-            del new
-    summing.wait()
-    return [own / p for own in shards[::-1]]
+        del weights
+        own = gradient.new_empty(len(gradient) // p)
+        dist.reduce_scatter_single(own, gradient)
+        shards.insert(0, own / p)
+    return shards

# %% wrong_two_ahead (right_one_ahead): wrong, gathers_too_early, levels 1 1 0 0
-    coming = gather(layers[0], True)
+    coming = [gather(layer, True) for layer in layers[:3]]
@@
     for i, layer in enumerate(layers):
-        weights, work = coming
+        weights, work = coming.pop(0)
@@
-        if i + 1 < len(layers):
-            coming = gather(layers[i + 1], True)
@@
         x = layer.forward(weights, x)
-        del weights
+        del weights, work
+        if i + 3 < len(layers):
+            coming.append(gather(layers[i + 3], True))
@@
-    coming = gather(layers[-1], True)
-    for i in reversed(range(len(layers))):
-        weights, work = coming
-        work.wait()
-        if i:
-            coming = gather(layers[i - 1], True)
-        g, gradient = layers[i].backward(weights, g)
-        del weights
+    for layer in reversed(layers):
+        weights = gather(layer)
+        g, gradient = layer.backward(weights, g)

# %% wrong_waits: wrong, waits_for_every_gather, levels 1 1 1 0
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    for layer in layers:
        weights = gather(layer)
        x = layer.forward(weights, x)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        weights = gather(layer)
        g, gradient = layer.backward(weights, g)
        shards.insert(0, scatter(gradient))
    return shards

# %% wrong_waits_for_all_sums (right_keeps_the_last_layer): wrong, keeps_full_gradients, levels 1 1 0 1
-    g, shards, summing = loss_gradient(x), [], None
+    g, shards, summing = loss_gradient(x), [], []
@@
-        if summing:
-            summing.wait()
@@
-        summing = dist.reduce_scatter_single(shards[-1], gradient, async_op=True)
+        summing.append(dist.reduce_scatter_single(shards[-1], gradient, async_op=True))
@@
-    summing.wait()
+    for work in summing:
+        work.wait()

# %% wrong_whole: wrong, whole_gradients, levels 0 0 0 0
def gather(layer, async_op=False):
    whole = layer.shard.new_empty(len(layer.shard) * dist.get_world_size())
    work = dist.all_gather_single(whole, layer.shard, async_op=async_op)
    return (whole, work) if async_op else whole


def scatter(gradient):
    p = dist.get_world_size()
    own = gradient.new_empty(len(gradient) // p)
    dist.reduce_scatter_single(own, gradient)
    return own / p


def zero3_forward_backward(layers, x, loss_gradient):
    for layer in layers:
        weights = gather(layer)
        x = layer.forward(weights, x)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        weights = gather(layer)
        g, gradient = layer.backward(weights, g)
        dist.all_reduce(gradient)
        shards.insert(0, gradient / dist.get_world_size())
    return shards
