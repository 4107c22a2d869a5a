# verdict: passed
# differs: Each worker builds its own data set and shards it itself: nothing is left to the automatic rule.
def distribute(dataset, strategy, batch):
    def own(context):
        mine = dataset.shard(context.num_input_pipelines, context.input_pipeline_id)
        return mine.batch(batch).prefetch(1)

    return strategy.distribute_datasets_from_function(own)
