# verdict: wrong, diagnosis: not_distributed
def distribute(dataset, strategy, batch):
    return dataset.batch(batch * strategy.num_replicas_in_sync)
