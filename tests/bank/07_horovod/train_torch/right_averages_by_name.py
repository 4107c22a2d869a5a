# verdict: passed
# differs: The optimizer stays as it is, and the gradients are averaged by name before its step: plain to read, nothing overlaps.
import horovod.torch as hvd_torch


def train_torch(model, optimizer, checkpoint, loss_function, batches):
    hvd_torch.broadcast_parameters(dict(model.named_parameters()), root_rank=0)
    if checkpoint is not None:
        optimizer.load_state_dict(checkpoint)
    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)
    for x, y in batches:
        optimizer.zero_grad()
        loss_function(model(x), y).backward()
        for name, p in model.named_parameters():
            p.grad = hvd_torch.allreduce(p.grad, name=name)
        optimizer.step()
