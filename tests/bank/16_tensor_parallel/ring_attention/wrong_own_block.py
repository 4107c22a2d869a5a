# verdict: wrong, diagnosis: own_only
import torch.nn.functional as F


def ring_attention(q, k, v, causal):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
