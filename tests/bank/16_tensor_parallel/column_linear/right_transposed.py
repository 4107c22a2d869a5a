# verdict: passed
# differs: Everything is computed transposed, so that the parts of the ranks lie one after the other and no concatenation is needed.
import torch.distributed as dist


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    width, rest = divmod(weight.shape[0], p)
    if rest:
        raise ValueError("columns")
    mine = slice(r * width, (r + 1) * width)
    own = weight[mine] @ x.T + bias[mine, None]
    y = x.new_empty(weight.shape[0], x.shape[0])
    dist.all_gather_into_tensor(y, own.contiguous())
    return y.T
