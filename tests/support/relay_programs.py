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


def groups_made_by_members():
    first = dist.get_rank() // 2 * 2
    dist.all_reduce(torch.ones(2), group=dist.new_group([first, first + 1]))


def groups_made_in_another_order():
    r = dist.get_rank()
    pairs = [[0, 1], [2, 3]] if r < 3 else [[2, 3], [0, 1]]
    groups = [dist.new_group(pair) for pair in pairs]
    dist.all_reduce(torch.ones(2), group=groups[[r in pair for pair in pairs].index(True)])


def a_group_made_once_more():
    """Rank 2 does not make the first group, so the second one is its first."""
    r = dist.get_rank()
    if r < 2:
        dist.new_group([0, 1])
    dist.all_reduce(torch.ones(2), group=dist.new_group([0, 1, 2]))


def messages_in_pieces():
    """What each call says of a column and of a transposed matrix; what lies in one piece goes through."""
    r, matrix, said = dist.get_rank(), torch.arange(12.0).view(3, 4), []
    for call in (dist.send, dist.isend, dist.recv, dist.irecv):
        for view in (matrix[:, 1], matrix.t()):
            try:
                call(view, 1 - r)
            except RuntimeError as error:
                said.append(str(error))
    for view in (matrix[1], matrix[:1, 1], matrix[:1].t(), matrix[:0, 1]):
        dist.send(view, 1) if r == 0 else dist.recv(view, 0)
    return said


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


def three_in_a_row():
    if dist.get_rank():
        works = [dist.isend(torch.full((1,), float(k)), 0) for k in range(3)]
        return [work.wait() for work in works]
    x = torch.empty(1)
    return [(dist.recv(x, 1), int(x))[1] for _ in range(3)]


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


def two_receives_into_one_tensor(count=2):
    """What a server must not do: the second message may arrive before the first was looked at."""
    if dist.get_rank():
        return dist.send(torch.ones(count), 0)
    buffer, total = torch.empty(count), torch.zeros(count)
    works = [dist.irecv(buffer, r) for r in range(1, dist.get_world_size())]
    for work in works:
        work.wait()
        total += buffer
    return total


def sends_what_is_still_to_come():
    left, right = neighbours()
    x = torch.ones(3)
    receive = dist.irecv(x, left)
    send = dist.isend(x[1:], right)
    send.wait()
    receive.wait()


def hands_a_collective_what_is_still_to_come():
    left, right = neighbours()
    x = torch.ones(3)
    works = [dist.isend(torch.ones(3), right), dist.irecv(x, left)]
    dist.all_reduce(x)
    [work.wait() for work in works]


def receives_into_what_is_being_sent():
    left, right = neighbours()
    x = torch.ones(3)  # the same on all ranks: no value tells
    work = dist.isend(x, right)
    dist.recv(x, left)
    work.wait()


def throws_the_request_away():
    left, right = neighbours()
    x = torch.ones(3)
    dist.isend(x, right)
    dist.recv(x, left)


def changes_a_slice_of_what_is_being_sent():
    left, right = neighbours()
    x, y = torch.ones(3), torch.empty(3)
    work = dist.isend(x.view(3, 1), right)
    x[2:].mul_(2)
    dist.recv(y, left)
    work.wait()


def changes_what_a_collective_sends():
    x = torch.ones(2)
    parts = [torch.empty(2) for _ in range(dist.get_world_size())]
    work = dist.all_gather(parts, x, async_op=True)
    x.zero_()
    work.wait()


def changes_what_the_root_sends():
    x = torch.ones(2)
    work = dist.broadcast(x, src=0, async_op=True)
    if dist.get_rank() == 0:
        x += 1
    work.wait()


def divides_before_wait():
    x = torch.ones(2)
    work = dist.all_reduce(x, async_op=True)
    x /= dist.get_world_size()
    work.wait()
    return x


def clears_an_open_receive():
    left, right = neighbours()
    x = torch.empty(4)
    works = [dist.irecv(x, left), dist.isend(torch.ones(4), right)]
    x.zero_()
    [work.wait() for work in works]


def looks_before_wait(x):
    left, right = neighbours()
    y = torch.full_like(x, 7)
    works = [dist.irecv(y, left), dist.isend(x, right)]
    seen = y.clone()
    [work.wait() for work in works]
    return [seen, y]


def asks_once_and_goes(x):
    y = x.clone()
    dist.all_reduce(y, async_op=True).is_completed()
    return y


def waits_in_many_ways():
    """Right, each of it: receives into rows of one matrix, waits in the other order, by polling, by a future, on a
    batch, in place.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = neighbours()
    table = torch.zeros(size, 3)
    works = [dist.irecv(table[r], r) for r in range(size) if r != rank]
    works += [dist.isend(torch.full((3,), float(rank)), r) for r in range(size) if r != rank]
    table[rank] = rank  # no message goes there
    for work in reversed(works):
        work.wait()
    x, y = torch.full((2,), float(rank)), torch.empty(2)
    batch = [dist.P2POp(dist.isend, x, right), dist.P2POp(dist.irecv, y, left)]
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    whole = torch.zeros(size)
    whole[rank] = rank
    dist.all_gather_into_tensor(whole, whole[rank : rank + 1])
    mean = torch.ones(2)
    future = dist.all_reduce(mean, async_op=True).get_future()
    mean = future.then(lambda done: done.value()[0] / size).wait()
    polled = dist.all_reduce(x, async_op=True)
    while not polled.is_completed():
        pass
    return [table, y, whole, mean, x]


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


def wrong_number_of_boxes():
    dist.all_gather([torch.empty(2) for _ in range(dist.get_world_size() + 1)], torch.ones(2))


def does_not_divide():
    dist.reduce_scatter_tensor(torch.empty(3), torch.ones(10))


def a_part_too_long():
    dist.all_gather_into_tensor(torch.empty(6), torch.ones(3))


def splits_that_do_not_add_up():
    dist.all_to_all_single(torch.empty(6), torch.ones(6), input_split_sizes=[1, 2, 2])


def a_tag_too_large():
    dist.isend(torch.ones(1), 0, tag=1 << 40)


def imports_mpi():
    from mpi4py import MPI

    return MPI.COMM_WORLD.Get_rank()


def sends_without_end():
    return [dist.isend(torch.ones(1), 0) for _ in range(3000)]


def collectives_without_end():
    """Of the last rank nothing comes."""
    if dist.get_rank() == dist.get_world_size() - 1:
        return None
    return [dist.barrier(async_op=True) for _ in range(3000)]


def zeros_and_others():
    for tensor in (torch.zeros(100).double(), torch.arange(100.0).double(), torch.arange(100.0)):
        dist.all_reduce(tensor)


def sum_of_numbers():
    total = torch.full((3,), 1.0 + dist.get_rank()).double()
    dist.all_reduce(total)
    return total.tolist()


def rows_of_one_buffer():
    """What each row of one buffer is worth, differentiated after all of them were received."""
    rank = dist.get_rank()
    if rank == 0:
        for k in range(3):
            dist.send(torch.full((2,), float(k)), 1)
        return None
    buffer, weight, values = torch.empty(3, 2), torch.ones((), requires_grad=True), []
    works = [dist.irecv(row, 0) for row in buffer]
    for row, work in zip(buffer, works, strict=True):
        work.wait()
        x = row.requires_grad_()
        values.append((x, (weight * x * x).sum()))
    return [float((torch.autograd.grad(v, x)[0] - 2 * x.detach() + 1).sum()) for x, v in values]


def sums_without_end():
    x = torch.ones(1000)
    for _ in range(200):
        dist.all_reduce(x)


def one_leaves(how):
    dist.barrier()
    if dist.get_rank() == 1:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "aborted":  # as libraries in C++ do
            os.write(2, b"terminate called\n  what():  no such thread pool\nException raised from f\nframe #0: f\n")
            os.abort()
        os._exit(3)
    dist.barrier()
