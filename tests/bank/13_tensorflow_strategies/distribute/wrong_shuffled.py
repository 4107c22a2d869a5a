# verdict: wrong, diagnosis: other_orders
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.shuffle(100).batch(batch * strategy.num_replicas_in_sync))
