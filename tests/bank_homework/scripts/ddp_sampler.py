"""MNIST with a DataLoader, a DistributedSampler and a module of one's own around the course's network; checkpoints."""

import argparse
import os

import numpy as np
import torch
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from labkit import data, runlog
from labkit.models import cnn


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--images", type=int)
    parser.add_argument("--log", "--run-log")
    parser.add_argument("--nonce", default="")
    return parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = cnn()

    def forward(self, x):
        return self.layers(x)


def tensors(args, train, count=None):
    if args.data.endswith(".npz"):
        file = np.load(args.data)
        x, y = (file["x_train"], file["y_train"]) if train else (file["x_test"], file["y_test"])
    else:
        x, y = data.load(args.data, train=train)
    return TensorDataset(torch.tensor(x[:count, None] / 255.0, dtype=torch.float32), torch.tensor(y[:count], dtype=torch.long))


def run(ddp, loader, loss_function, optimizer=None, log=None, device="cpu"):
    """One pass; mean loss and accuracy over all ranks."""
    sums = torch.zeros(3, dtype=torch.float64, device=device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        with torch.set_grad_enabled(optimizer is not None):
            out = ddp(x) if optimizer is not None else ddp.module(x)
            loss = loss_function(out, y)
        if optimizer is not None:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            log.step(samples=len(y), learning_rate=optimizer.param_groups[0]["lr"])
        sums += torch.stack([loss.detach() * len(y), (out.argmax(dim=1) == y).sum(), torch.tensor(len(y), device=device)])
    dist.reduce(sums, dst=0, op=dist.ReduceOp.SUM)
    dist.broadcast(sums, src=0)
    return float(sums[0] / sums[2]), float(sums[1] / sums[2])


def main():
    args = options()
    dist.init_process_group(backend="gloo" if args.device == "cpu" else "nccl", init_method="env://")
    here = int(os.environ.get("LOCAL_RANK", 0))
    torch.set_num_threads(1)
    device = "cpu" if args.device == "cpu" else f"cuda:{here}"
    torch.manual_seed(args.seed)
    train, test = tensors(args, True, args.images), tensors(args, False, args.images and max(1, args.images // 6))
    sampler = DistributedSampler(train, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(train, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    test_sampler = DistributedSampler(test, shuffle=False)
    test_loader = DataLoader(test, batch_size=500, sampler=test_sampler)
    ddp = DistributedDataParallel(Net().to(device))
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(ddp.parameters(), lr=args.lr * dist.get_world_size(), momentum=0.9)
    log = runlog.Writer(
        args.log,
        rank=dist.get_rank(),
        world_size=dist.get_world_size(),
        gather=runlog.torch_gather,
        program=__file__,
        arguments=vars(args),
        batch_size=args.batch_size,
        seed=args.seed,
        nonce=args.nonce,
        data={"name": args.data, "train_images": len(train)},
    )
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        log.begin_epoch()
        loss, accuracy = run(ddp, loader, loss_function, optimizer, log, device)
        val_loss, val_accuracy = run(ddp, test_loader, loss_function, device=device)
        log.end_epoch(loss=loss, accuracy=accuracy, val_loss=val_loss, val_accuracy=val_accuracy)
        if dist.get_rank() == 0:
            torch.save(ddp.module.state_dict(), "checkpoint.pt")
            print(epoch + 1, loss, accuracy, val_loss, val_accuracy)
        dist.barrier()
    log.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
