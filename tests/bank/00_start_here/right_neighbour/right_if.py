# verdict: passed
# differs: An `if` for the last rank in place of the remainder: longer, and it says in words where the circle closes.
def right_neighbour(rank: int, world_size: int) -> int:
    last = world_size - 1
    if rank == last:
        return 0
    return rank + 1
