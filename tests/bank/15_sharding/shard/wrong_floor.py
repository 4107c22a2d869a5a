# verdict: wrong, diagnosis: drops_remainder


def shard(flat, rank, p):
    k = len(flat) // p
    return flat[rank * k : (rank + 1) * k]
