# verdict: passed
# differs: Jobs travel as pickled objects, None for the end: no number has to be set aside as a sign.
import torch
import torch.distributed as dist


def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if rank:
        while True:
            box = [None]
            dist.recv_object_list(box, src=0)
            if box[0] is None:
                return
            loss = torch.tensor(work(*box[0]), dtype=torch.float64)
            dist.send(loss, 0)
    out, idle = {}, set(range(1, p))
    loss = torch.zeros((), dtype=torch.float64)
    while True:
        for worker in sorted(idle):
            job = next_job()
            if job is None:
                break
            dist.send_object_list([job], dst=worker)
            out[worker] = job
        idle -= set(out)
        if p == 1:
            job = next_job()
            if job is None:
                return
            report(job, work(*job))
        elif out:
            source = dist.recv(loss)
            report(out.pop(source), float(loss))
            idle.add(source)
        else:
            break
    for worker in range(1, p):
        dist.send_object_list([None], dst=worker)
