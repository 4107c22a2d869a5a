# verdict: wrong, diagnosis: auto_shard_off
def distribute(dataset, strategy, batch):
    return strategy.distribute_datasets_from_function(lambda context: dataset.batch(batch))
