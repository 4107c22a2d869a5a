# exercise: shard
# must not: go on where the call for the rank before has stopped: real ranks are processes that do not share a list
# verdict: wrong
import torch

taken = [0]


def shard(flat, rank, p):
    length = -(-len(flat) // p)
    if rank == 0:
        taken[0] = 0
    piece = flat[taken[0] : taken[0] + length]
    taken[0] += len(piece)
    return torch.cat([piece, piece.new_zeros(length - len(piece))])
