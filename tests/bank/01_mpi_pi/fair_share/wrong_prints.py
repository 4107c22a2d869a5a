# verdict: wrong, diagnosis: not_a_pair
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    start = rank * size + min(rank, rest)
    print(start, start + size + (rank < rest))
