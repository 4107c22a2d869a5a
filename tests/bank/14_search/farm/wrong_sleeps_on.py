# verdict: wrong, diagnosis: workers_idle
import torch
import torch.distributed as dist


def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        while True:
            dist.recv(message, 0)
            if message[0] < 0:
                return
            message[2] = work(int(message[0]), int(message[1]))
            dist.send(message, 0)
    out, worker = {}, None
    for worker in range(1, p):
        job = next_job()
        if job is not None:
            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
            out[worker] = job
    while out:
        worker = dist.recv(message)
        report(out.pop(worker), message[2].item())
        job = next_job()
        if job is not None:
            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
            out[worker] = job
    for worker in range(1, p):
        dist.send(torch.tensor([-1, 0, 0], dtype=torch.float64), worker)
