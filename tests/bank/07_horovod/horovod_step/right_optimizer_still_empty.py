# verdict: passed
import tensorflow as tf
import horovod.tensorflow as hvd


def horovod_step(model, optimizer, loss_function, x, y, first_batch):
    if first_batch:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    tape = hvd.DistributedGradientTape(tape)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss
