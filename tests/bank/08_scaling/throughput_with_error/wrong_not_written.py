# verdict: missing, diagnosis: not_written
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    raise NotImplementedError()
