# verdict: hung, diagnosis: deadlock
import torch
import torch.distributed as dist


def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank:
        while True:
            job = torch.empty(2, dtype=torch.int64)
            dist.recv(job, 0)
            if not job.any():
                return
            c, e = job.tolist()
            dist.send(torch.tensor([work(c, e)], dtype=torch.float64), 0)
    idle, busy = list(range(1, p)), {}
    while True:
        while idle:
            job = next_job()
            if job is None:
                break
            w = idle.pop(0)
            busy[w] = job
            dist.send(torch.tensor(job), w)
        if not busy:
            break
        loss = torch.empty(1, dtype=torch.float64)
        w = dist.recv(loss)
        report(busy.pop(w), loss.item())
        idle.append(w)
    for w in range(1, p):
        dist.send(torch.tensor([0, 0]), w)
