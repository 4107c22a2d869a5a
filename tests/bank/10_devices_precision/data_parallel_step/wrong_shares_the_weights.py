# verdict: wrong, diagnosis: shares_the_weights
import torch


def data_parallel_step(replicas, x, y, loss_fn):
    for replica in replicas:
        for other, mine in zip(replica.parameters(), replicas[0].parameters()):
            other.data = mine.data
        replica.zero_grad()
    shards = x.chunk(len(replicas))
    outputs = torch.cat([replica(shard) for replica, shard in zip(replicas, shards)])
    loss_fn(outputs, y).backward()
    each = [[w.grad for w in replica.parameters()] for replica in replicas[: len(shards)]]
    return [sum(gradients) for gradients in zip(*each)]
