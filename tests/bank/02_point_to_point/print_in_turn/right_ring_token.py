# verdict: passed
# differs: The token goes all the way round to rank 0, which then knows that everybody has printed.
import torch
import torch.distributed as dist


def print_in_turn(line: str) -> None:
    rank, p = dist.get_rank(), dist.get_world_size()
    word = torch.tensor([17], dtype=torch.int64)
    if rank != 0:
        dist.irecv(word, src=(rank - 1) % p).wait()
    print(f"{line}", flush=True)
    dist.isend(word, dst=(rank + 1) % p).wait() if rank == 0 else dist.send(word, (rank + 1) % p)
    if rank == 0:
        dist.recv(word, p - 1)
