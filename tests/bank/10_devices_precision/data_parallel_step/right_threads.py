# verdict: passed
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def data_parallel_step(replicas, x, y, loss_fn):
    flat = parameters_to_vector(replicas[0].parameters()).detach()
    for replica in replicas:
        vector_to_parameters(flat.clone(), replica.parameters())
        replica.zero_grad()
    shards = x.tensor_split(len(replicas))
    with ThreadPoolExecutor(len(replicas)) as pool:
        outputs = list(pool.map(lambda replica, shard: replica(shard), replicas, shards))
    loss_fn(torch.cat(outputs), y).backward()
    first, *others = [[p.grad for p in replica.parameters()] for replica in replicas]
    for other in others:
        for total, g in zip(first, other):
            total.add_(g)
    return first
