# verdict: raised, diagnosis: RuntimeError
import horovod.torch as hvd_torch


def train_torch(model, optimizer, checkpoint, loss_function, batches):
    optimizer = hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    if checkpoint is not None:
        optimizer.load_state_dict(checkpoint)
    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)
    for x, y in batches:
        optimizer.zero_grad()
        loss_function(y, model(x)).backward()
        optimizer.step()
