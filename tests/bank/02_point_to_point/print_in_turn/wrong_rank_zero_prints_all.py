# verdict: wrong, diagnosis: printed_by_another
import torch
import torch.distributed as dist


def print_in_turn(line):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    text = torch.zeros(80, dtype=torch.uint8)
    data = line.encode()
    text[: len(data)] = torch.tensor(list(data), dtype=torch.uint8)
    if rank > 0:
        dist.send(text, 0)
        return
    print(line)
    for other in range(1, world_size):
        dist.recv(text, other)
        print(bytes(text[text > 0].tolist()).decode())
