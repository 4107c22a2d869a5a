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
    p = dist.get_world_size()
    weights = gather(layers[0])
    for here, above in zip(layers, layers[1:]):
        new, work = gather(above, True)
        x = here.forward(weights, x)
        work.wait()
        weights = new
        del new
    x = layers[-1].forward(weights, x)
    g, shards, pending = loss_gradient(x), [], []
    for i in reversed(range(len(layers))):
        if i:
            new, work = gather(layers[i - 1], True)
        g, gradient = layers[i].backward(weights, g)
        own = gradient.new_empty(len(gradient) // p)
        pending.append((dist.reduce_scatter_single(own, gradient, async_op=True), own, gradient))
        if i:
            work.wait()
            weights = new
            del new
    for work, own, _ in pending:
        work.wait()
        shards.append(own / p)
    return shards[::-1]
