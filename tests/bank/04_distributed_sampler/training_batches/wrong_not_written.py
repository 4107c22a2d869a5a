# verdict: missing, diagnosis: not_written
def training_batches(dataset, global_batch_size, epochs, seed):
    raise NotImplementedError("write this function")
