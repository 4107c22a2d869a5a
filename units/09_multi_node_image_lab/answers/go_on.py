# Right and wrong answers to `go_on`. In files of their own: autograder bank --write DIR
import horovod.tensorflow as hvd
import tensorflow as tf

# %% right_epochs_as_a_tensor: passed
def go_on(model, optimizer, read_checkpoint):
    found = read_checkpoint()
    if found:
        for variable, value in zip([*model.variables, *optimizer.variables], [*found["weights"], *found["optimizer"]]):
            variable.assign(value)
    for k, variable in enumerate([*model.variables, *optimizer.variables]):
        variable.assign(hvd.broadcast(variable, root_rank=0, name=f"variable.{k}"))
    epochs = tf.constant(found["epochs"] if found else 0)
    return hvd.broadcast(epochs, root_rank=0, name="epochs")

# %% right_object_all: passed
def go_on(model, optimizer, read_checkpoint):
    c = read_checkpoint()
    state = (
        (c["epochs"], c["weights"], c["optimizer"]) if c else (0, model.get_weights(), [v.numpy() for v in optimizer.variables])
    )
    e, w, o = hvd.broadcast_object(state, root_rank=0)
    model.set_weights(w)
    for v, x in zip(optimizer.variables, o):
        v.assign(x)
    return e

# %% right_read_then_broadcast: passed
def go_on(model, optimizer, read_checkpoint):
    epochs = 0
    checkpoint = read_checkpoint() if hvd.rank() == 0 else None
    if checkpoint is not None:
        epochs = checkpoint["epochs"]
        model.set_weights(checkpoint["weights"])
        for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
            variable.assign(value)
    hvd.broadcast_variables(model.variables, root_rank=0)
    hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return hvd.broadcast_object(epochs, root_rank=0, name="epochs")

# %% right_sends_the_checkpoint: passed
# differs: Rank 0 sends the checkpoint itself, and every rank loads it: one message, and a file that only one rank must reach.
def go_on(model, optimizer, read_checkpoint):
    checkpoint = hvd.broadcast_object(read_checkpoint(), root_rank=0, name="checkpoint")
    if checkpoint is None:
        hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
        return 0
    model.set_weights(checkpoint["weights"])
    for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
        variable.assign(value)
    return checkpoint["epochs"]

# %% right_sum_epoch: passed
def go_on(model, optimizer, read_checkpoint):
    c = read_checkpoint() if hvd.rank() == 0 else None
    e = 0
    if c:
        model.set_weights(c["weights"])
        e = c["epochs"]
        for v, x in zip(optimizer.variables, c["optimizer"]):
            v.assign(x)
    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
    return int(hvd.allreduce(tf.constant(e), op=hvd.Sum))

# %% wrong_all_open_it: raised, TypeError, levels 0 0
def go_on(model, optimizer, read_checkpoint):
    checkpoint = read_checkpoint()
    model.set_weights(checkpoint["weights"])
    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
    return checkpoint["epochs"]

# %% wrong_averages: wrong, mean_start, levels 0 0
def go_on(model, optimizer, read_checkpoint):
    checkpoint = hvd.broadcast_object(read_checkpoint(), root_rank=0)
    for variable in model.variables:
        variable.assign(hvd.allreduce(variable, op=hvd.Average))
    if checkpoint is not None:
        for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
            variable.assign(value)
        return checkpoint["epochs"]
    return 0

# %% wrong_broadcasts_first (right_read_then_broadcast): wrong, broadcast_first, levels 1 0
-    checkpoint = read_checkpoint() if hvd.rank() == 0 else None
+    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
+    checkpoint = read_checkpoint()
@@
-    hvd.broadcast_variables(model.variables, root_rank=0)
-    hvd.broadcast_variables(optimizer.variables, root_rank=0)
-    return hvd.broadcast_object(epochs, root_rank=0, name="epochs")
+    return epochs

# %% wrong_broadcasts_where_there_is_one (right_read_then_broadcast): wrong, optimizer_not_broadcast, levels 0 0
-    checkpoint = read_checkpoint() if hvd.rank() == 0 else None
+    hvd.broadcast_variables(model.variables, root_rank=0)
+    checkpoint = read_checkpoint()
@@
-    hvd.broadcast_variables(model.variables, root_rank=0)
-    hvd.broadcast_variables(optimizer.variables, root_rank=0)
+        hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)

# %% wrong_counts_from_zero: wrong, epoch_forgotten, levels 1 0
def go_on(model, optimizer, read_checkpoint):
    checkpoint = read_checkpoint()
    if checkpoint is not None:
        model.set_weights(checkpoint["weights"])
        for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
            variable.assign(value)
    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
    return 0

# %% wrong_epoch_averaged: wrong, epoch_averaged, levels 1 0
def go_on(model, optimizer, read_checkpoint):
    c = read_checkpoint()
    if c:
        model.set_weights(c["weights"])
        for v, x in zip(optimizer.variables, c["optimizer"]):
            v.assign(x)
    hvd.broadcast_variables(model.variables, root_rank=0)
    hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return int(hvd.allreduce(tf.constant(float(c["epochs"] if c else 0)), op=hvd.Average))

# %% wrong_epoch_not_told (right_read_then_broadcast): wrong, epoch_not_told, levels 1 0
-    checkpoint = read_checkpoint() if hvd.rank() == 0 else None
+    checkpoint = read_checkpoint()
@@
-    hvd.broadcast_variables(model.variables, root_rank=0)
-    hvd.broadcast_variables(optimizer.variables, root_rank=0)
-    return hvd.broadcast_object(epochs, root_rank=0, name="epochs")
+    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
+    return epochs

# %% wrong_float (right_sum_epoch): raised, NotAnInt, levels 0 0
-    return int(hvd.allreduce(tf.constant(e), op=hvd.Sum))
+    return float(hvd.allreduce(tf.constant(float(e)), op=hvd.Sum))

# %% wrong_fresh_model_only: wrong, optimizer_not_broadcast, levels 0 1
def go_on(model, optimizer, read_checkpoint):
    c = hvd.broadcast_object(read_checkpoint(), root_rank=0)
    if c is None:
        hvd.broadcast_variables(model.variables, root_rank=0)
        return 0
    model.set_weights(c["weights"])
    for v, x in zip(optimizer.variables, c["optimizer"]):
        v.assign(x)
    return c["epochs"]

# %% wrong_model_forgotten (right_sum_epoch): wrong, weights_not_restored, levels 1 0
-        model.set_weights(c["weights"])

# %% wrong_momenta_only (right_sum_epoch): wrong, steps_not_broadcast, levels 0 0
-    c = read_checkpoint() if hvd.rank() == 0 else None
+    c = read_checkpoint()
@@
-    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
-    return int(hvd.allreduce(tf.constant(e), op=hvd.Sum))
+    hvd.broadcast_variables(model.variables, root_rank=0)
+    hvd.broadcast_variables(optimizer.momentums, root_rank=0)
+    return hvd.broadcast_object(e, root_rank=0)

# %% wrong_momentums: raised, AttributeError, levels 1 0
def go_on(model, optimizer, read_checkpoint):
    c = read_checkpoint() if hvd.rank() == 0 else None
    epochs = 0
    if c is not None:
        epochs = c["epochs"]
        model.set_weights(c["weights"])
        for v, x in zip([optimizer.iterations, *optimizer.momentums], c["optimizer"]):
            v.assign(x)
    hvd.broadcast_variables(model.variables + [optimizer.iterations, *optimizer.momentums], root_rank=0)
    return hvd.broadcast_object(epochs, root_rank=0)

# %% wrong_no_broadcast (right_read_then_broadcast): wrong, no_broadcast, levels 0 0
-    checkpoint = read_checkpoint() if hvd.rank() == 0 else None
+    checkpoint = read_checkpoint()
@@
-    hvd.broadcast_variables(model.variables, root_rank=0)
-    hvd.broadcast_variables(optimizer.variables, root_rank=0)

# %% wrong_one_too_many (right_read_then_broadcast): wrong, epoch_too_many, levels 0 0
-    checkpoint = read_checkpoint() if hvd.rank() == 0 else None
+    checkpoint = read_checkpoint()
@@
-    hvd.broadcast_variables(model.variables, root_rank=0)
-    hvd.broadcast_variables(optimizer.variables, root_rank=0)
-    return hvd.broadcast_object(epochs, root_rank=0, name="epochs")
+    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
+    return hvd.broadcast_object(epochs, root_rank=0, name="epochs") + 1

# %% wrong_only_if_epochs (right_sum_epoch): wrong, checkpoint_skipped, levels 1 0
-    if c:
+    if c and c["epochs"] > 0:

# %% wrong_optimizer_forgotten: wrong, optimizer_not_restored, levels 1 0
def go_on(model, optimizer, read_checkpoint):
    epochs = 0
    checkpoint = read_checkpoint()
    if checkpoint is not None:
        epochs = checkpoint["epochs"]
        model.set_weights(checkpoint["weights"])
    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
    return hvd.broadcast_object(epochs, root_rank=0, name="epochs")

# %% wrong_optimizer_not_broadcast (right_read_then_broadcast): wrong, optimizer_not_broadcast, levels 0 0
-    checkpoint = read_checkpoint() if hvd.rank() == 0 else None
+    checkpoint = read_checkpoint()
@@
-    hvd.broadcast_variables(optimizer.variables, root_rank=0)

# %% wrong_through_float32 (right_read_then_broadcast): wrong, steps_through_float32, levels 1 0
-    hvd.broadcast_variables(optimizer.variables, root_rank=0)
+    for k, variable in enumerate(optimizer.variables):
+        value = hvd.broadcast(tf.cast(variable, tf.float32), root_rank=0, name=f"value.{k}")
+        if hvd.rank() != 0:
+            variable.assign(tf.cast(value, variable.dtype))

# %% wrong_trainable_only (right_read_then_broadcast): wrong, trainable_only, levels 0 0
-    checkpoint = read_checkpoint() if hvd.rank() == 0 else None
+    checkpoint = read_checkpoint()
@@
-    hvd.broadcast_variables(model.variables, root_rank=0)
-    hvd.broadcast_variables(optimizer.variables, root_rank=0)
+    hvd.broadcast_variables(model.trainable_variables + optimizer.variables, root_rank=0)

# %% wrong_without_iterations: wrong, steps_not_restored, levels 1 0
def go_on(model, optimizer, read_checkpoint):
    c = read_checkpoint()
    e = 0
    if c:
        model.set_weights(c["weights"])
        e = c["epochs"]
        for v, x in zip(optimizer.variables[1:], c["optimizer"][1:]):
            v.assign(x)
    hvd.broadcast_variables(model.variables, root_rank=0)
    hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return hvd.broadcast_object(e, root_rank=0)
