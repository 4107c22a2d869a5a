# verdict: wrong, diagnosis: not_reported
import torch
import torch.distributed as dist


def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    message = torch.zeros(3, dtype=torch.float64)
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank > 0:
        message[2] = 0.0
        while True:
            dist.send(message, 0)
            dist.recv(message, 0)
            if message[0] < 0:
                return
            message[2] = work(int(message[0]), int(message[1]))
    waiting = []
    while len(waiting) < p - 1:
        source = dist.recv(message)
        config, epochs, loss = message.tolist()
        if loss:
            report((int(config), int(epochs)), loss)
        waiting.append(source)
        while waiting and (job := next_job()) is not None:
            dist.send(torch.tensor([*job, 0.0], dtype=torch.float64), waiting.pop())
    for worker in waiting:
        dist.send(torch.full((3,), -1.0, dtype=torch.float64), worker)
