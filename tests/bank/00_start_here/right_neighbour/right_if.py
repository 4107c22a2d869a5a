# verdict: passed
def right_neighbour(rank: int, world_size: int) -> int:
    last = world_size - 1
    if rank == last:
        return 0
    return rank + 1
