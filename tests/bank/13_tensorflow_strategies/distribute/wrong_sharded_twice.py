# verdict: wrong, diagnosis: sharded_twice
def distribute(dataset, strategy, batch):
    resolver = strategy.cluster_resolver
    if resolver is not None and resolver.task_id is not None:
        workers = 2 if strategy.num_replicas_in_sync == 4 else 3
        dataset = dataset.shard(workers, resolver.task_id)
    return strategy.experimental_distribute_dataset(dataset.batch(batch * strategy.num_replicas_in_sync))
