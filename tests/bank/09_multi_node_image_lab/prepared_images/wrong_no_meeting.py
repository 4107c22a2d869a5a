# verdict: wrong, diagnosis: read_too_early
def prepared_images(hvd, is_ready, prepare, load):
    if hvd.local_rank() == 0 and not is_ready():
        prepare()
    return load()
