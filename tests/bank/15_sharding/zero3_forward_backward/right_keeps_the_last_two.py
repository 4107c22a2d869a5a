# verdict: passed
import torch
import torch.distributed as dist


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
