# verdict: passed
# differs: Each gradient is averaged by a call of its own: what the DistributedGradientTape does for you, without its fusion.
import horovod.tensorflow as hvd
import tensorflow as tf


def horovod_step(model, optimizer, loss_function, x, y, first_batch):
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients = [hvd.allreduce(gradient) for gradient in gradients]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first_batch:
        hvd.broadcast_variables([*model.variables, *optimizer.variables], root_rank=0)
    return float(loss)
