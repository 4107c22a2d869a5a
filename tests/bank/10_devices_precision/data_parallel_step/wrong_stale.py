# verdict: wrong, diagnosis: stale_gradients


def data_parallel_step(replicas, x, y, loss_fn):
    for replica in replicas:
        replica.load_state_dict(replicas[0].state_dict())
    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))
    for replica, rows, labels in shards:
        (loss_fn(replica(rows), labels) * len(rows) / len(x)).backward()
    gradients = [p.grad.clone() for p in replicas[0].parameters()]
    for replica, _, _ in shards[1:]:
        for total, p in zip(gradients, replica.parameters()):
            total += p.grad
    return gradients
