# verdict: raised, diagnosis: AttributeError
import horovod.tensorflow as hvd


def finish_epoch(save, loss, accuracy, count):
    if hvd.rank() == 0:
        save()
    return {"loss": float(hvd.allreduce(loss)), "accuracy": float(hvd.allreduce(accuracy))}
