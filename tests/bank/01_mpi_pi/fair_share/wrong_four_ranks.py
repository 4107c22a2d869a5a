# verdict: wrong, diagnosis: four_ranks
def fair_share(n, rank, world_size):
    size, rest = divmod(n, 4)
    start = rank * size + min(rank, rest)
    return start, start + size + (rank < rest)
