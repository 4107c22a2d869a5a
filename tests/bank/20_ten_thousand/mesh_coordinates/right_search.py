# verdict: passed
import torch


def mesh_coordinates(rank, shape):
    ranks = torch.arange(torch.Size(shape).numel()).reshape(shape)
    places = (ranks == rank).nonzero()
    if len(places) == 0:
        raise ValueError("no such rank")
    return places[0]
