# verdict: passed
import horovod.torch as hvd_torch


def train_torch(model, optimizer, checkpoint, loss_function, batches):
    hvd_torch.broadcast_parameters(list(model.named_parameters()), root_rank=0)
    optimizer = hvd_torch.DistributedOptimizer(optimizer)
    checkpoint = hvd_torch.broadcast_object(checkpoint, root_rank=0, name="checkpoint")
    if checkpoint:
        optimizer.load_state_dict(checkpoint)
    for x, y in batches:
        loss = loss_function(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.synchronize()
        with optimizer.skip_synchronize():
            optimizer.step()
