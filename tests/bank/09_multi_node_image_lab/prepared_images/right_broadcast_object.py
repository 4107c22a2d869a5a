# verdict: passed
# differs: The meeting is a broadcast of a word: nobody has it before rank 0 is done preparing.
def prepared_images(hvd, is_ready, prepare, load):
    if hvd.local_rank() == 0:
        if not is_ready():
            prepare()
    hvd.broadcast_object("ready", root_rank=0, name="ready")
    images = load()
    return images
