# verdict: passed
# differs: Only the GPU that this rank uses is touched, and with fewer GPUs than ranks they are shared.
def init_and_pin(tf, hvd):
    hvd.init()
    if gpus := tf.config.experimental.list_physical_devices("GPU"):
        mine = gpus[hvd.local_rank() % len(gpus)]
        tf.config.experimental.set_visible_devices([mine], "GPU")
        tf.config.experimental.set_memory_growth(mine, True)
