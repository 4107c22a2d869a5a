# verdict: wrong, diagnosis: no_growth
def init_and_pin(tf, hvd):
    hvd.init()
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
