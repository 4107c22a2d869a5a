"""MNIST with DistributedDataParallel: torchrun starts it. Each rank takes every size-th image."""

import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from labkit import data, runlog
from labkit.models import cnn

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
args = parser.parse_args()

local_rank = int(os.environ["LOCAL_RANK"])
if args.device == "gpu":
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
else:
    torch.set_num_threads(1)
    device = torch.device("cpu")
dist.init_process_group("nccl" if args.device == "gpu" else "gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(args.seed)


def load(train):
    if args.data.endswith(".npz"):
        with np.load(args.data) as file:
            return (file["x_train"], file["y_train"]) if train else (file["x_test"], file["y_test"])
    return data.load(args.data, train=train)


def prepare(images, labels, count):
    x = torch.from_numpy(images[:count, None].astype("float32") / 255)
    return x.to(device), torch.from_numpy(labels[:count].astype("int64")).to(device)


images, labels = prepare(*load(True), args.images)
test_images, test_labels = prepare(*load(False), max(1, args.images // 6) if args.images else None)
total = len(images)
images, labels = images[rank::size], labels[rank::size]
test_images, test_labels = test_images[rank::size], test_labels[rank::size]
steps = total // args.batch_size // size

model = cnn().to(device)
ddp = DDP(model)
optimizer = torch.optim.SGD(ddp.parameters(), lr=args.lr * size, momentum=0.9)


def train_step(x, y):
    optimizer.zero_grad()
    logits = ddp(x)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    return loss.item(), (logits.argmax(1) == y).float().mean().item()


def over_ranks(loss, correct, count):
    total = torch.tensor([loss, correct, count], dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return (total[0] / total[2]).item(), (total[1] / total[2]).item()


@torch.no_grad()
def validate():
    loss = correct = 0.0
    for k in range(0, len(test_images), 500):
        x, y = test_images[k : k + 500], test_labels[k : k + 500]
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        correct += (logits.argmax(1) == y).sum().item()
    return over_ranks(loss, correct, len(test_images))


log = runlog.Writer(
    args.log,
    rank=rank,
    world_size=size,
    gather=runlog.torch_gather,
    program=__file__,
    arguments=vars(args),
    batch_size=args.batch_size,
    seed=args.seed,
    nonce=args.nonce,
    data={"name": args.data, "train_images": total},
)
chance = np.random.default_rng(args.seed + rank)
step = 0
for epoch in range(args.epochs):
    order = chance.permutation(len(images))
    loss_sum = correct = 0.0
    log.begin_epoch()
    for k in range(steps):
        rows = order[k * args.batch_size : (k + 1) * args.batch_size]
        loss, accuracy = train_step(images[rows], labels[rows])
        step += 1
        loss_sum += loss * len(rows)
        correct += accuracy * len(rows)
        log.step(samples=len(rows), learning_rate=optimizer.param_groups[0]["lr"])
    loss, accuracy = over_ranks(loss_sum, correct, steps * args.batch_size)
    val_loss, val_accuracy = validate()
    log.end_epoch(loss=loss, accuracy=accuracy, val_loss=val_loss, val_accuracy=val_accuracy)
    if rank == 0:
        print(f"epoch {epoch + 1}: loss {loss:.4f} accuracy {accuracy:.4f} val {val_loss:.4f} {val_accuracy:.4f}", flush=True)
log.close()
dist.destroy_process_group()
