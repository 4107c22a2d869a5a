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
            job = torch.empty(2)
            dist.recv(job, 0)
            if job[0] < 0:
                return
            loss = work(int(job[0]), int(job[1]))
            dist.send(torch.tensor([loss], dtype=torch.float64), 0)
    idle, out = list(range(1, p)), {}
    answer = torch.empty(1, dtype=torch.float64)
    while True:
        while idle:
            job = next_job()
            if job is None:
                break
            w = idle.pop(0)
            out[w] = job
            dist.send(torch.tensor(job, dtype=torch.float32), w)
        if not out:
            break
        w = dist.recv(answer)
        report(out.pop(w), answer.item())
        idle.append(w)
    for w in range(1, p):
        dist.send(torch.tensor([-1., -1.]), w)
