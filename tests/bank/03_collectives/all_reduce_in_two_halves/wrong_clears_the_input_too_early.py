# verdict: wrong, diagnosis: reused_buffer
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x):
    p, n = dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.new_empty(padded.numel() // p)
    result = torch.empty_like(padded)
    first = dist.reduce_scatter_tensor(chunk, padded, async_op=True)
    padded.zero_()
    first.wait()
    dist.all_gather_into_tensor(result, chunk)
    return result[:n]
