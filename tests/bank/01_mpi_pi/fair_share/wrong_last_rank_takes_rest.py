# verdict: wrong, diagnosis: last_rank_takes_rest
def fair_share(n, rank, world_size):
    size = n // world_size
    start = rank * size
    stop = n if rank == world_size - 1 else start + size
    return start, stop
