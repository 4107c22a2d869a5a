# verdict: wrong, diagnosis: uses_collective
import torch
import torch.distributed as dist


def print_in_turn(line):
    for turn in range(dist.get_world_size()):
        if turn == dist.get_rank():
            print(line)
        dist.barrier()
