# verdict: passed
def prepared_images(hvd, is_ready, prepare, load):
    missing = hvd.local_rank() == 0 and not is_ready()
    if any(hvd.allgather_object(missing)):
        if missing:
            prepare()
        hvd.allgather_object(None)
    return load()
