# verdict: wrong, diagnosis: dealt_otherwise
def strided_share(n, rank, world_size):
    ids = []
    for start in range(0, n, world_size):
        place = rank if start // world_size % 2 == 0 else world_size - 1 - rank
        if start + place < n:
            ids.append(start + place)
    return ids
