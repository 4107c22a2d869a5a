# verdict: wrong, diagnosis: hard_coded_four
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank + 1) % 4
