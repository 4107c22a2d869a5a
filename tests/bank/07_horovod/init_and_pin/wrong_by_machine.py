# verdict: wrong, diagnosis: by_machine
def init_and_pin(tf, hvd):
    hvd.init()
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.cross_rank()], "GPU")
