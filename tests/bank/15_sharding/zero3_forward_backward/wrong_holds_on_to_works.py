# verdict: wrong, diagnosis: keeps_whole_layers
import torch
import torch.distributed as dist


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
        buffers[i] = None
    grad = loss_gradient(x)
    result = [None] * n
    prefetch(n - 1)
    for i in range(n - 1, -1, -1):
        works[i].wait()
        prefetch(i - 1)
        grad, full = layers[i].backward(buffers[i], grad)
        buffers[i] = None
        full = full / p
        result[i] = torch.empty_like(layers[i].shard)
        dist.reduce_scatter_single(result[i], full)
    return result
