# verdict: wrong, diagnosis: returns_nothing
def strided_share(n, rank, world_size):
    for i in range(rank, n, world_size):
        print(i)
