# verdict: wrong, diagnosis: wraps_too_early
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank + 1) % (world_size - 1)
