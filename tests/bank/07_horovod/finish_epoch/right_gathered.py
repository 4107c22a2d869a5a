# verdict: passed
import horovod.tensorflow as hvd


def finish_epoch(save, loss, accuracy, count):
    all_of_them = hvd.allgather_object((loss, accuracy, count))
    total = sum(n for _, _, n in all_of_them)
    loss = sum(one * n for one, _, n in all_of_them) / total
    accuracy = sum(a * n for _, a, n in all_of_them) / total
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}
