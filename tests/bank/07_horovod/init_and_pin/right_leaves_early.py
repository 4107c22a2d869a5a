# verdict: passed
def init_and_pin(tf, hvd):
    if not hvd.is_initialized():
        hvd.init()
    gpus = [device for device in tf.config.list_physical_devices() if device.device_type == "GPU"]
    if len(gpus) == 0:
        return
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
