# verdict: wrong, diagnosis: idle_devices
def data_parallel_step(replicas, x, y, loss_fn):
    for replica in replicas:
        replica.load_state_dict(replicas[0].state_dict())
        replica.zero_grad()
    loss_fn(replicas[0](x), y).backward()
    return [p.grad for p in replicas[0].parameters()]
