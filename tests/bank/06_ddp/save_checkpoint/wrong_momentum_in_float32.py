# verdict: wrong, diagnosis: other_momentum
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        state = optimizer.state_dict()
        for s in state["state"].values():
            s["momentum_buffer"] = s["momentum_buffer"].float()
        torch.save({"model": ddp.module.state_dict(), "optimizer": state, "epoch": epoch}, path)
    dist.barrier()
