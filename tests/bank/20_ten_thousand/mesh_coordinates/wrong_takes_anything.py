# verdict: wrong, diagnosis: takes_anything
def mesh_coordinates(rank, shape):
    found = []
    for length in reversed(shape):
        found.insert(0, rank % length)
        rank //= length
    return tuple(found)
