# exercise: zero3_forward_backward
# must not: keep every layer's weights from the forward pass on, in memory that no tensor counts
# verdict: anything but passed
import torch
import torch.distributed as dist


def zero3_forward_backward(layers, x, loss_gradient):  # every rank keeps the whole model from the forward pass on
    p, kept = dist.get_world_size(), []

    def begin(i):
        if i < len(layers):
            whole = layers[i].shard.new_empty(p * len(layers[i].shard))
            return whole, dist.all_gather_single(whole, layers[i].shard, async_op=True)

    coming = begin(0)
    for i, layer in enumerate(layers):
        whole, work = coming
        work.wait()
        kept.append(whole.numpy().copy())  # numpy's memory is nobody's tensor
        del whole, work
        coming = begin(i + 1)
        x = layer.forward(torch.from_numpy(kept[i]), x)
    g, gradients = loss_gradient(x), []
    for i in reversed(range(len(layers))):
        g, gradient = layers[i].backward(torch.from_numpy(kept[i]), g)
        own = torch.empty_like(layers[i].shard)
        dist.reduce_scatter_single(own, gradient)
        gradients.insert(0, own / p)
    return gradients
