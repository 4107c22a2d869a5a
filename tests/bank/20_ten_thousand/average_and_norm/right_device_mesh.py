# verdict: passed
# differs: `init_device_mesh` makes all groups, and the two ends of the pipeline exchange their embedding gradients by messages.
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def average_and_norm(gradients, replicated, shape):
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("data", "pipeline", "tensor"))
    _, stage, column = mesh.get_coordinate()
    last = shape[1] - 1
    for g in gradients.values():
        dist.all_reduce(g, group=mesh.get_group("data"))
        g.div_(shape[0])
    if last and stage in (0, last):
        own, other = gradients["embedding"], torch.empty_like(gradients["embedding"])
        peer = dist.get_rank() + (last - 2 * stage if last == stage or not stage else 0) * shape[2]
        requests = [dist.isend(own.clone(), peer), dist.irecv(other, peer)]
        for request in requests:
            request.wait()
        own += other
    squares = sum(
        (g**2).sum()
        for name, g in gradients.items()
        if not (column and name in replicated) and not (stage and name == "embedding")
    )
    for axis in ("tensor", "pipeline"):
        dist.all_reduce(squares, group=mesh.get_group(axis))
    return squares.sqrt()
