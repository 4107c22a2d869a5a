# verdict: missing, diagnosis: not_written
def minibatch_shares(order, batch_size, rank, world_size):
    raise NotImplementedError("write this function")
