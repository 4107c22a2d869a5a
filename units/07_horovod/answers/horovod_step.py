# Right and wrong answers to `horovod_step`. In files of their own: autograder bank --write DIR
import horovod.tensorflow as hvd
import tensorflow as tf

# %% right_allreduce_by_hand: passed
# differs: Each gradient is averaged by a call of its own: what the DistributedGradientTape does for you, without its fusion.
def horovod_step(model, optimizer, loss_function, x, y, first_batch):
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients = [hvd.allreduce(gradient) for gradient in gradients]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first_batch:
        hvd.broadcast_variables([*model.variables, *optimizer.variables], root_rank=0)
    return float(loss)

# %% right_broadcast_after: passed
def horovod_step(model, optimizer, loss_function, x, y, first_batch):
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first_batch:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return loss

# %% right_broadcast_before: passed
def horovod_step(model, optimizer, loss_function, x, y, first_batch):
    if first_batch:
        optimizer.build(model.trainable_variables)
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

# %% right_optimizer_still_empty: passed
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

# %% right_tf_function: passed
@tf.function
def horovod_step(model, optimizer, loss_function, x, y, first_batch):
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    gradients = hvd.DistributedGradientTape(tape).gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first_batch:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return loss

# %% wrong_as_in_an_evaluation (right_broadcast_before): wrong, evaluation_mode, levels 0 0 0
-        loss = loss_function(y, model(x, training=True))
+        loss = loss_function(y, model(x))

# %% wrong_averages_once (right_broadcast_after): wrong, averaged_once, levels 0 0 0
-    tape = hvd.DistributedGradientTape(tape)
+    if first_batch:
+        tape = hvd.DistributedGradientTape(tape)

# %% wrong_averages_the_weights (right_broadcast_after): wrong, mean_start, levels 1 0 0
-    tape = hvd.DistributedGradientTape(tape)
@@
-    if first_batch:
-        hvd.broadcast_variables(model.variables, root_rank=0)
-        hvd.broadcast_variables(optimizer.variables, root_rank=0)
+    for variable in [*model.variables, *optimizer.variables[2:]]:
+        variable.assign(hvd.allreduce(variable))

# %% wrong_broadcasts_each_variable (right_broadcast_after): wrong, broadcast_again, levels 0 0 0
-    if first_batch:
-        hvd.broadcast_variables(model.variables, root_rank=0)
-        hvd.broadcast_variables(optimizer.variables, root_rank=0)
+    for variable in [*model.variables, *optimizer.variables]:
+        variable.assign(hvd.broadcast(variable, root_rank=0))

# %% wrong_divided_again (right_broadcast_after): wrong, divided_again, levels 0 0 0
     gradients = tape.gradient(loss, model.trainable_variables)
+    gradients = [gradient / hvd.size() for gradient in gradients]

# %% wrong_every_batch (right_broadcast_after): wrong, broadcast_again, levels 0 0 0
-    if first_batch:
-        hvd.broadcast_variables(model.variables, root_rank=0)
-        hvd.broadcast_variables(optimizer.variables, root_rank=0)
+    hvd.broadcast_variables(model.variables, root_rank=0)
+    hvd.broadcast_variables(optimizer.variables, root_rank=0)

# %% wrong_every_batch_imported (right_broadcast_after): wrong, broadcast_again, levels 0 0 0
+from horovod.tensorflow import broadcast_variables
+
+
 def horovod_step(model, optimizer, loss_function, x, y, first_batch):
@@
-    if first_batch:
-        hvd.broadcast_variables(model.variables, root_rank=0)
-        hvd.broadcast_variables(optimizer.variables, root_rank=0)
+    broadcast_variables(model.variables, root_rank=0)
+    broadcast_variables(optimizer.variables, root_rank=0)

# %% wrong_iterations_not_broadcast (right_broadcast_after): wrong, scalars_not_broadcast, levels 1 1 0
-def horovod_step(model, optimizer, loss_function, x, y, first_batch):
+def horovod_step(model, optimizer, loss_function, x, y, first_batch: bool):
@@
-        hvd.broadcast_variables(optimizer.variables, root_rank=0)
+        momenta = [v for v in optimizer.variables if len(v.shape) > 0]
+        if momenta:
+            hvd.broadcast_variables(momenta, root_rank=0)

# %% wrong_last_root (right_broadcast_after): wrong, another_root, levels 1 0 0
-        hvd.broadcast_variables(model.variables, root_rank=0)
-        hvd.broadcast_variables(optimizer.variables, root_rank=0)
+        hvd.broadcast_variables(model.variables, root_rank=hvd.size() - 1)
+        hvd.broadcast_variables(optimizer.variables, root_rank=hvd.size() - 1)

# %% wrong_mean_loss (right_broadcast_after): wrong, mean_loss, levels 0 0 0
-    return loss
+    return hvd.allreduce(loss, op=hvd.Average)

# %% wrong_model_only (right_broadcast_after): wrong, optimizer_not_broadcast, levels 1 1 0
-        hvd.broadcast_variables(optimizer.variables, root_rank=0)

# %% wrong_no_average (right_broadcast_after): wrong, no_average, levels 0 0 0
-    tape = hvd.DistributedGradientTape(tape)

# %% wrong_no_broadcast (right_broadcast_after): wrong, no_broadcast, levels 1 0 0
-    if first_batch:
-        hvd.broadcast_variables(model.variables, root_rank=0)
-        hvd.broadcast_variables(optimizer.variables, root_rank=0)

# %% wrong_not_on_the_first (right_broadcast_after): wrong, broadcast_late, levels 0 0 0
-    if first_batch:
+    if not first_batch:

# %% wrong_once_per_process: wrong, no_broadcast, levels 1 1 0
equal = False


def horovod_step(model, optimizer, loss_function, x, y, first_batch):
    global equal
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    gradients = hvd.DistributedGradientTape(tape).gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first_batch and not equal:
        hvd.broadcast_variables([*model.variables, *optimizer.variables], root_rank=0)
        equal = True
    return loss

# %% wrong_optimizer_after_the_step (right_broadcast_after): wrong, optimizer_later, levels 1 1 0
 def horovod_step(model, optimizer, loss_function, x, y, first_batch):
+    if first_batch:
+        hvd.broadcast_variables(model.variables, root_rank=0)
@@
-        hvd.broadcast_variables(model.variables, root_rank=0)

# %% wrong_prediction_first (right_broadcast_after): raised, ValueError, levels 0 0 0
-        loss = loss_function(y, model(x, training=True))
+        loss = loss_function(model(x, training=True), y)

# %% wrong_rate_scaled_again (right_broadcast_after): wrong, p_times_too_long, levels 0 0 0
 def horovod_step(model, optimizer, loss_function, x, y, first_batch):
+    if first_batch:
+        optimizer.learning_rate = optimizer.learning_rate * hvd.size()

# %% wrong_returns_nothing_first (right_broadcast_after): wrong, no_first_loss, levels 0 1 1
-    if first_batch:
-        hvd.broadcast_variables(model.variables, root_rank=0)
-        hvd.broadcast_variables(optimizer.variables, root_rank=0)
-    return loss
+    if not first_batch:
+        return loss
+    hvd.broadcast_variables(model.variables, root_rank=0)
+    hvd.broadcast_variables(optimizer.variables, root_rank=0)

# %% wrong_root_alone (right_broadcast_after): hung, mismatched_collective, levels 0 0 0
-    if first_batch:
+    if first_batch and hvd.rank() == 0:

# %% wrong_summed (right_broadcast_after): wrong, p_times_too_long, levels 0 0 0
-    tape = hvd.DistributedGradientTape(tape)
+    tape = hvd.DistributedGradientTape(tape, op=hvd.Sum)

# %% wrong_trainable_only (right_broadcast_after): wrong, frozen_not_broadcast, levels 1 0 0
-        hvd.broadcast_variables(model.variables, root_rank=0)
+        hvd.broadcast_variables(model.trainable_variables, root_rank=0)
