# verdict: raised, diagnosis: IndexError
import torch
import torch.distributed as dist


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
