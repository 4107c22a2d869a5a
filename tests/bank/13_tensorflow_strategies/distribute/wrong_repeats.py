# verdict: wrong, diagnosis: samples_again
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.repeat(2).batch(batch * strategy.num_replicas_in_sync))
