# verdict: wrong, diagnosis: out_of_order
import torch
import torch.distributed as dist


def print_in_turn(line):
    print(line)
