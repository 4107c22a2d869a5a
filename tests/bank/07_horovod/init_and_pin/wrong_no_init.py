# verdict: wrong, diagnosis: init_needs_a_gpu
def init_and_pin(tf, hvd):
    pass
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
