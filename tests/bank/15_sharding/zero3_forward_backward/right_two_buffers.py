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
