# verdict: passed
# differs: Whole minibatches are dealt out, so that one worker may take a step less than the others.
def distribute(dataset, strategy, batch):
    def own(context):
        return dataset.batch(batch).shard(context.num_input_pipelines, context.input_pipeline_id)

    return strategy.distribute_datasets_from_function(own)
