# verdict: passed
import os
import tempfile

import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    rank = dist.get_rank()
    if rank == 0:
        fd, name = tempfile.mkstemp(dir=os.path.dirname(path))
        with os.fdopen(fd, "wb") as f:
            torch.save(dict(model=ddp.module.state_dict(), optimizer=optimizer.state_dict(), epoch=epoch), f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(name, path)
    dist.broadcast_object_list(["written"], src=0)
    assert os.path.exists(path)
