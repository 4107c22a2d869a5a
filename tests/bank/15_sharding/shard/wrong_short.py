# verdict: wrong, diagnosis: not_padded


def shard(flat, rank, p):
    k = -(-len(flat) // p)
    return flat[rank * k : (rank + 1) * k]
