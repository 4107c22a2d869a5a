# verdict: passed
# differs: A sparse tensor adds up doubles by itself when it is made dense.
import torch
import torch.distributed as dist


def top_k_mean(gradient, error, k):
    n, p = len(gradient), dist.get_world_size()
    error.add_(gradient)
    order = sorted(range(n), key=lambda i: -abs(error[i].item()))[:k]
    mine = torch.tensor(order), error[order]
    gathered = [[torch.empty_like(one) for _ in range(p)] for one in mine]
    for parts, one in zip(gathered, mine):
        dist.all_gather(parts, one)
    error[order] = 0
    indices, values = (torch.cat(parts) for parts in gathered)
    return torch.sparse_coo_tensor(indices[None], values, (n,)).to_dense() / p
