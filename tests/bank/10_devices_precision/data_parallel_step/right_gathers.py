# verdict: passed
# differs: The outputs of all replicas are put together and get one loss, as `DataParallel` does it: uneven shares weigh right by themselves.
import torch


def data_parallel_step(replicas, x, y, loss_fn):
    with torch.no_grad():
        for replica in replicas[1:]:
            for copy, own in zip(replica.parameters(), replicas[0].parameters()):
                copy.copy_(own)
    for replica in replicas:
        replica.zero_grad()
    shards = x.chunk(len(replicas))
    outputs = [replica(shard) for replica, shard in zip(replicas, shards)]
    loss_fn(torch.cat(outputs), y).backward()
    used = [list(replica.parameters()) for replica in replicas[: len(shards)]]
    return [sum(p.grad for p in same) for same in zip(*used)]
