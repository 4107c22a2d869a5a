# verdict: wrong, diagnosis: not_replicated


def data_parallel_step(replicas, x, y, loss_fn):
    for replica in replicas:
        replica.zero_grad()
    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))
    for replica, rows, labels in shards:
        (loss_fn(replica(rows), labels) * len(rows) / len(x)).backward()
    gradients = [p.grad.clone() for p in replicas[0].parameters()]
    for replica, _, _ in shards[1:]:
        for total, p in zip(gradients, replica.parameters()):
            total += p.grad
    return gradients
