# verdict: wrong, diagnosis: batch_too_large
def distribute(dataset, strategy, batch):
    def own(context):
        return dataset.shard(context.num_input_pipelines, context.input_pipeline_id).batch(batch * strategy.num_replicas_in_sync)

    return strategy.distribute_datasets_from_function(own)
