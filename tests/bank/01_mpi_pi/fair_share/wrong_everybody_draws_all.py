# verdict: wrong, diagnosis: ignores_rank
def fair_share(n, rank, world_size):
    start = 0
    stop = n
    return start, stop
