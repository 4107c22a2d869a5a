# verdict: wrong, diagnosis: out_of_order
import torch
import torch.distributed as dist

import time


def print_in_turn(line):
    time.sleep(0.01 * dist.get_rank())
    print(line)
