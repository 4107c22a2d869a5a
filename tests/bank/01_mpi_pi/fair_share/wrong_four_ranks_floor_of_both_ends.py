# verdict: wrong, diagnosis: four_ranks
def fair_share(n, rank, world_size):
    return n * rank // 4, n * (rank + 1) // 4
