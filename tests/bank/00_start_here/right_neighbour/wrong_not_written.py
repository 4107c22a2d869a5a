# verdict: missing, diagnosis: not_written
def right_neighbour(rank: int, world_size: int) -> int:
    # Your code here: replace the next line.
    raise NotImplementedError("write this function")
