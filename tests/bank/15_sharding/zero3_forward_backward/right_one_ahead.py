# verdict: passed
# differs: While one layer computes, the next is already on its way, forward and back: two layers are whole at a time.
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
