# verdict: raised, diagnosis: IndexError
def minibatch_shares(order, batch_size, rank, world_size):
    return [[order[start + place] for place in range(rank, batch_size, world_size)] for start in range(0, len(order), batch_size)]
