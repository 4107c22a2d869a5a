# verdict: wrong, diagnosis: drops_if_even
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    hits = predictions == labels
    if rank >= n % p:
        hits = hits[:-1]
    if n < p:
        hits = (predictions == labels)[: int(rank < n)]
    correct = hits.sum()
    dist.all_reduce(correct)
    return correct.item() / n
