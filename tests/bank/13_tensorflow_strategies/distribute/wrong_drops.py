# verdict: wrong, diagnosis: drops_remainder
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.batch(batch * strategy.num_replicas_in_sync, drop_remainder=True))
