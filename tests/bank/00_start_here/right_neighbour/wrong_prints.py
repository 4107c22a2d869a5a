# verdict: wrong, diagnosis: returns_nothing
def right_neighbour(rank: int, world_size: int) -> int:
    print((rank + 1) % world_size)
