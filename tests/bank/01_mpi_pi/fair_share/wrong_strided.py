# verdict: wrong, diagnosis: not_a_pair
def fair_share(n, rank, world_size):
    return list(range(rank, n, world_size))
