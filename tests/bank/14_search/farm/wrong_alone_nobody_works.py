# verdict: wrong, diagnosis: nobody_works_alone
import torch
import torch.distributed as dist


def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        while True:
            dist.recv(message, 0)
            config, epochs = int(message[0]), int(message[1])
            if config < 0:
                return
            message[2] = work(config, epochs)
            dist.send(message, 0)
    idle, running = list(range(1, p)), {}
    while True:
        while idle and (job := next_job()) is not None:
            worker = idle.pop(0)
            running[worker] = job
            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
        if not running:
            break
        worker = dist.recv(message)
        report(running.pop(worker), float(message[2]))
        idle.append(worker)
    for worker in range(1, p):
        dist.send(torch.full((3,), -1.0, dtype=torch.float64), worker)
