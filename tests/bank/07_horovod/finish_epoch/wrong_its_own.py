# verdict: wrong, diagnosis: own_only
import horovod.tensorflow as hvd


def finish_epoch(save, loss, accuracy, count):
    pass
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}
