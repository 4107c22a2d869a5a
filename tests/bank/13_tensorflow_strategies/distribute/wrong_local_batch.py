# verdict: wrong, diagnosis: batch_is_local
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.batch(batch))
