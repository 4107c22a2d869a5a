"""Programs for the relay's tests: each function is what a student could have written."""

import os
import signal

import torch
import torch.distributed as dist


def neighbours():
    rank, size = dist.get_rank(), dist.get_world_size()
    return (rank - 1) % size, (rank + 1) % size


def ring_all_reduce(x):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = neighbours()
    chunks = [c.clone() for c in torch.tensor_split(x, size)]
    for add in (True, False):
        for step in range(size - 1):
            out, into = (rank + (not add) - step) % size, (rank + (not add) - step - 1) % size
            buffer = torch.empty_like(chunks[into])
            work = dist.isend(chunks[out], right)
            dist.recv(buffer, left)
            work.wait()
            chunks[into] = chunks[into] + buffer if add else buffer
    return torch.cat(chunks)


def server_sum(x):
    total = x.clone()
    if dist.get_rank() == 0:
        for source in range(1, dist.get_world_size()):
            other = torch.empty_like(x)
            dist.recv(other, source)
            total += other
        return total
    dist.send(x, 0)
    return total


def receive_first():
    left, right = neighbours()
    x = torch.zeros(3)
    dist.recv(x, left)
    dist.send(x, right)


def send_first():
    left, right = neighbours()
    x = torch.zeros(3)
    dist.send(x, right)
    dist.recv(x, left)


def rank_0_only():
    if dist.get_rank() == 0:
        dist.all_reduce(torch.ones(2))


def different_collectives():
    if dist.get_rank() == 1:
        dist.barrier()
    else:
        dist.all_reduce(torch.ones(2))


def different_shapes():
    dist.all_reduce(torch.ones(2 + dist.get_rank() % 2))


def different_dtypes():
    dist.all_reduce(torch.ones(2, dtype=torch.float64 if dist.get_rank() else torch.float32))


def different_reductions():
    dist.all_reduce(torch.ones(2), dist.ReduceOp.SUM if dist.get_rank() else dist.ReduceOp.MAX)


def different_roots():
    dist.broadcast(torch.ones(2), src=dist.get_rank())


def room_too_small():
    if dist.get_rank() == 0:
        dist.send(torch.ones(4), 1)
    elif dist.get_rank() == 1:
        dist.recv(torch.ones(3), 0)


def other_dtype_received():
    if dist.get_rank() == 0:
        dist.send(torch.ones(4), 1)
    elif dist.get_rank() == 1:
        dist.recv(torch.ones(2, dtype=torch.float64), 0)


def different_tags():
    if dist.get_rank() == 0:
        dist.send(torch.ones(4), 1, tag=1)
    elif dist.get_rank() == 1:
        dist.recv(torch.ones(4), 0, tag=2)


def partner_returns():
    if dist.get_rank() == 0:
        dist.recv(torch.ones(4), 1)


def nobody_left_to_send():
    if dist.get_rank() == 0:
        for _ in range(dist.get_world_size()):
            dist.recv(torch.ones(1))
    else:
        dist.send(torch.ones(1), 0)


def polls_for_ever():
    if dist.get_rank() == 0:
        work = dist.irecv(torch.ones(4), 1)
        while not work.is_completed():
            pass


def killed():
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def raises():
    if dist.get_rank() == 1:
        raise ValueError("no")
    dist.barrier()


def any_source():
    if dist.get_rank():
        return dist.send(torch.full((1,), float(dist.get_rank())), 0)
    x = torch.empty(1)
    return [(dist.recv(x), int(x)) for _ in range(dist.get_world_size() - 1)]


def polls_until_done():
    left, right = neighbours()
    x = torch.empty(4)
    works = [dist.isend(torch.full((4,), float(dist.get_rank())), right), dist.irecv(x, left)]
    while not all(work.is_completed() for work in works):
        pass
    return x


def reuses_buffer():
    left, right = neighbours()
    x, y = torch.ones(3), torch.empty(3)
    work = dist.isend(x, right)
    x += 1
    dist.recv(y, left)
    work.wait()


def never_waits():
    left, right = neighbours()
    x = torch.full((2,), -1.0)
    dist.isend(torch.ones(2), right)
    dist.irecv(x, left)
    return x


def asynchronous_all_reduce():
    left, right = neighbours()
    x, y = torch.ones(2), torch.empty(2)
    work = dist.all_reduce(x, async_op=True)
    first, second = (dist.send, dist.recv) if dist.get_rank() % 2 == 0 else (dist.recv, dist.send)
    for call in (first, second):
        call(torch.ones(2), right) if call is dist.send else call(y, left)
    work.wait()
    return x


def says_rank():
    print(f"I am rank {dist.get_rank()}")


def says_in_turn():
    rank, size = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank:
        dist.recv(token, rank - 1)
    print(f"rank {rank}\nagain {rank}")
    if rank < size - 1:
        dist.send(token, rank + 1)


def reduces(x, how):
    y = x.clone()
    dist.all_reduce(y, getattr(dist.ReduceOp, how))
    return y


def random_numbers():
    return [float(torch.rand(1)), os.getpid() > 0]


def runs_for_ever():
    while True:
        pass


def eats_memory():
    return [torch.ones(1 << 28) for _ in range(64)]


def bits_of_floats():
    dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND)


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError


def raises_unspeakable():
    raise Unspeakable
