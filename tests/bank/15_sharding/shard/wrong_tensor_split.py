# verdict: wrong, diagnosis: fair_share


def shard(flat, rank, p):
    return flat.tensor_split(p)[rank]
