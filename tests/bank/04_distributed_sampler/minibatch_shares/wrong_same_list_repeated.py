# verdict: wrong, diagnosis: sample_left_out
def minibatch_shares(order, batch_size, rank, world_size):
    out, mine = [], []
    for s in range(0, len(order), batch_size):
        mine.clear()
        mine += order[s : s + batch_size][rank::world_size]
        out.append(mine)
    return out
