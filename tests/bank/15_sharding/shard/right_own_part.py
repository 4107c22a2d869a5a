# verdict: passed
# differs: Only the own part is copied into zeros: nothing of the size of the whole is made.


def shard(flat, rank, p):
    k = (len(flat) + p - 1) // p
    mine = flat.new_zeros(k)
    part = flat[rank * k : (rank + 1) * k]
    mine[: len(part)] = part
    return mine
