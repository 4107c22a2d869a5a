# verdict: wrong, diagnosis: turns_left
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank - 1) % world_size
