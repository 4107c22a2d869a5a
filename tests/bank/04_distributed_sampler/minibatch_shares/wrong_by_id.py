# verdict: wrong, diagnosis: by_id
def minibatch_shares(order, batch_size, rank, world_size):
    return [[i for i in order[s : s + batch_size] if i % world_size == rank] for s in range(0, len(order), batch_size)]
