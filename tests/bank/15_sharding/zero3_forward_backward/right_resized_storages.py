# verdict: passed
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
