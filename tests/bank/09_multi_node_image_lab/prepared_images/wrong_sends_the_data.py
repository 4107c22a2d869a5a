# verdict: wrong, diagnosis: sent_over_network
def prepared_images(hvd, is_ready, prepare, load):
    if hvd.local_rank() == 0 and not is_ready():
        prepare()
    images = load() if hvd.rank() == 0 else None
    return hvd.broadcast_object(images, root_rank=0)
