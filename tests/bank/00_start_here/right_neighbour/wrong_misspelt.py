# verdict: raised, diagnosis: NameError
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank + 1) % worldsize
