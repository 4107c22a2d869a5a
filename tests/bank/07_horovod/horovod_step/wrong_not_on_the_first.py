# verdict: wrong, diagnosis: broadcast_late
import horovod.tensorflow as hvd
import tensorflow as tf


def horovod_step(model, optimizer, loss_function, x, y, first_batch):
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if not first_batch:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return loss
