# verdict: raised, diagnosis: AttributeError
def prepared_images(hvd, is_ready, prepare, load):
    if hvd.local_rank() == 0 and not is_ready():
        prepare()
    hvd.barrier()
    return load()
