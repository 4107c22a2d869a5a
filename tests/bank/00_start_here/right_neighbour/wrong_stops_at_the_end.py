# verdict: wrong, diagnosis: stops_at_the_end
def right_neighbour(rank: int, world_size: int) -> int:
    if rank < world_size - 1:
        return rank + 1
    return rank
