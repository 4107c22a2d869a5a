# verdict: raised, diagnosis: NoSuchJob
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
            job = torch.empty(3, dtype=torch.int32)
            dist.recv(job, 0)
            if not job[2]:
                return
            c, e = job[:2].tolist()
            dist.send(torch.tensor([work(c, e)], dtype=torch.float64), 0)
    idle, busy = list(range(1, p)), {}
    while True:
        while idle:
            job = next_job()
            if job is None:
                break
            w = idle.pop(0)
            busy[w] = job
            dist.send(torch.tensor([*job, 1]).int(), w)
        if not busy:
            break
        loss = torch.empty(1, dtype=torch.float64)
        w = dist.recv(loss)
        report(busy.pop(w), loss.item())
        idle.append(w)
    for w in range(1, p):
        dist.send(torch.zeros(3, dtype=torch.int32), w)
