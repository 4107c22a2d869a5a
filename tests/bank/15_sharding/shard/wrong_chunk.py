# verdict: wrong, diagnosis: not_padded


def shard(flat, rank, p):
    return flat.chunk(p)[rank]
