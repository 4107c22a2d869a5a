# verdict: wrong, diagnosis: percent
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    mine = len(range(dist.get_rank(), n, dist.get_world_size()))
    t = (predictions == labels)[:mine].sum()
    dist.all_reduce(t)
    return 100 * t.item() / n
