# verdict: passed
import torch
import torch.distributed as dist


def farm(next_job, report, work):
    # A worker's first message carries no result; it asks.
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        job = next_job()
        while job is not None:
            report(job, work(*job))
            job = next_job()
    elif rank == 0:
        manage(next_job, report, p)
    else:
        serve(work)


def manage(next_job, report, p):
    waiting, busy, stopped = [], 0, 0
    answer = torch.empty(4, dtype=torch.double)
    while stopped < p - 1:
        source = dist.recv(answer)
        has_result, config, epochs, loss = answer.tolist()
        if has_result:
            report((int(config), int(epochs)), loss)
            busy -= 1
        waiting.append(source)
        while waiting:
            job = next_job()
            if job is None:
                break
            dist.send(torch.tensor([1, *job], dtype=torch.int64), waiting.pop(0))
            busy += 1
        if busy == 0 and len(waiting) == p - 1:
            for worker in waiting:
                dist.send(torch.tensor([0, 0, 0]), worker)
                stopped += 1


def serve(work):
    dist.send(torch.zeros(4, dtype=torch.double), 0)
    job = torch.empty(3, dtype=torch.int64)
    while True:
        dist.recv(job, 0)
        go_on, config, epochs = job.tolist()
        if not go_on:
            return
        loss = work(config, epochs)
        dist.send(torch.tensor([1, config, epochs, loss], dtype=torch.double), 0)
