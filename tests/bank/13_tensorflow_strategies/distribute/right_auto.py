# verdict: passed
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.batch(batch * strategy.num_replicas_in_sync))
