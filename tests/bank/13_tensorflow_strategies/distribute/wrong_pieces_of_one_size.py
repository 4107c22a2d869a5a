# verdict: wrong, diagnosis: pieces_of_one_size
def distribute(dataset, strategy, batch):
    def own(context):
        size = int(dataset.cardinality()) // context.num_input_pipelines
        return dataset.skip(size * context.input_pipeline_id).take(size).batch(batch)

    return strategy.distribute_datasets_from_function(own)
