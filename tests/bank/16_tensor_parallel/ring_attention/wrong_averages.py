# verdict: wrong, diagnosis: blocks_averaged
import torch
import torch.distributed as dist
import torch.nn.functional as F


def ring_attention(q, k, v, causal):
    p, r = dist.get_world_size(), dist.get_rank()
    block, out = torch.stack([k, v]), torch.zeros_like(q)
    seen = 0
    for step in range(p):
        owner = (r - step) % p
        if not causal or owner <= r:
            out += F.scaled_dot_product_attention(q, block[0], block[1], is_causal=causal and owner == r)
            seen += 1
        if step < p - 1:
            coming = torch.empty_like(block)
            work = dist.isend(block, (r + 1) % p)
            dist.recv(coming, (r - 1) % p)
            work.wait()
            block = coming
    return out / seen
