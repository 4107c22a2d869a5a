# verdict: wrong, diagnosis: growth_of_the_first
def init_and_pin(tf, hvd):
    hvd.init()
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        tf.config.experimental.set_memory_growth(gpus[0], True)
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
