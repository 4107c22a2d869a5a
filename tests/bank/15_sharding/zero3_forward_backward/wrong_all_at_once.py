# verdict: wrong, diagnosis: keeps_whole_layers
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
    coming = [gather(layer, True) for layer in layers]
    for layer, (weights, work) in zip(layers, coming):
        work.wait()
        x = layer.forward(weights, x)
    g, shards = loss_gradient(x), []
    for layer, (weights, _) in zip(layers[::-1], coming[::-1]):
        g, gradient = layer.backward(weights, g)
        shards.insert(0, scatter(gradient))
    return shards
