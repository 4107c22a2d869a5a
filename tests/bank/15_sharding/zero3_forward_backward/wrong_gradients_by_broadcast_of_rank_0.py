# verdict: wrong, diagnosis: unrecognised
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


def first(gradient):
    dist.broadcast(gradient, 0)
    return gradient.chunk(dist.get_world_size())[dist.get_rank()].clone()


def zero3_forward_backward(layers, x, loss_gradient):
    for layer in layers:
        weights = gather(layer)
        x = layer.forward(weights, x)
    g, shards = loss_gradient(x), []
    for layer in reversed(layers):
        weights = gather(layer)
        g, gradient = layer.backward(weights, g)
        shards.insert(0, first(gradient))
    return shards
