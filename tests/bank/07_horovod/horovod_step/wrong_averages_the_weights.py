# verdict: wrong, diagnosis: mean_start
import horovod.tensorflow as hvd
import tensorflow as tf


def horovod_step(model, optimizer, loss_function, x, y, first_batch):
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    for variable in [*model.variables, *optimizer.variables[2:]]:
        variable.assign(hvd.allreduce(variable))
    return loss
