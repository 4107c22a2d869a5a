# verdict: passed
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
