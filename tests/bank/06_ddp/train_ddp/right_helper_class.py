# verdict: passed
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, lr):
        self.ddp = DDP(model)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=lr)

    def step(self, x, y):
        loss = torch.nn.CrossEntropyLoss()(self.ddp(x), y)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        self.optimizer.step()
        everyone = [torch.zeros_like(loss) for _ in range(dist.get_world_size())]
        dist.all_gather(everyone, loss.detach())
        return torch.stack(everyone).mean()


def train_ddp(model, batches, lr):
    trainer = Trainer(model, lr)
    return [trainer.step(x, y) for x, y in batches]
