# verdict: wrong, diagnosis: backwards
def mesh_coordinates(rank, shape):
    found, inside = [], 1
    for length in shape:
        inside *= length
    if not 0 <= rank < inside:
        raise ValueError(f"there is no rank {rank} of {inside}")
    for length in reversed(shape):
        rank, place = divmod(rank, length)
        found.append(place)
    return tuple(found)
