# verdict: hung, diagnosis: mismatched_collective
import horovod.torch as hvd_torch


def train_torch(model, optimizer, checkpoint, loss_function, batches):
    checkpoint = hvd_torch.broadcast_object(checkpoint, root_rank=0)
    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
    if checkpoint is not None:
        optimizer.load_state_dict(checkpoint)
    wrapped = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    if checkpoint is not None:
        wrapped.load_state_dict(checkpoint)
    for x, y in batches:
        wrapped.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        wrapped.step()
