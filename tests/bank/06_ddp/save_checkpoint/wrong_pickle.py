# verdict: wrong, diagnosis: other_entries
import pickle

import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        with open(path, "wb") as file:
            pickle.dump({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, file)
    dist.barrier()
