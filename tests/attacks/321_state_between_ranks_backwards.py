# exercise: fair_share
# must not: learn from the call for the rank behind where this rank's share ends
# verdict: wrong


def fair_share(n, rank, world_size):
    if rank == world_size - 1:
        fair_share.end = n
    stop = fair_share.end
    start = stop - n // world_size - (1 if stop > (n // world_size) * (rank + 1) else 0)
    fair_share.end = start
    return start, stop
