# verdict: wrong, diagnosis: count_instead_of_stop
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    return rank * size + min(rank, rest), size + int(rank < rest)
