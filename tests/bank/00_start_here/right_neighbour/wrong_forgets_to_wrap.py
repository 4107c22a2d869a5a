# verdict: wrong, diagnosis: forgets_to_wrap
def right_neighbour(rank: int, world_size: int) -> int:
    return rank + 1
