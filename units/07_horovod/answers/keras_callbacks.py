# Right and wrong answers to `keras_callbacks`. In files of their own: autograder bank --write DIR
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras
import tensorflow as tf

# %% right_another_order: passed
# differs: The broadcast may come last among those that begin with the training; what counts is that metrics are averaged before anybody decides by them.
def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    callbacks = [
        hvd_keras.callbacks.LearningRateWarmupCallback(
            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
        ),
        hvd_keras.callbacks.MetricAverageCallback(),
        plateau,
        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
    ]
    return callbacks + [checkpoint] if hvd_keras.rank() == 0 else callbacks

# %% right_as_documented: passed
def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    callbacks = [
        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd_keras.callbacks.MetricAverageCallback(),
        hvd_keras.callbacks.LearningRateWarmupCallback(
            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
        ),
        plateau,
    ]
    if hvd.rank() == 0:
        callbacks.append(checkpoint)
    return callbacks

# %% right_its_own_broadcast: passed
class Broadcast(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.model.optimizer.build(self.model.trainable_variables)
        hvd.broadcast_variables(self.model.variables, root_rank=0)
        hvd.broadcast_variables(self.model.optimizer.variables, root_rank=0)


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    warmup = hvd_keras.callbacks.LearningRateWarmupCallback(scaled_rate, warmup_epochs, momentum_correction=False)
    callbacks = [Broadcast(), hvd_keras.callbacks.MetricAverageCallback(), warmup, plateau]
    return callbacks + [checkpoint] * (hvd.rank() == 0)

# %% wrong_broadcast_by_the_root (right_as_documented): hung, mismatched_collective, levels 0 0
-        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
@@
-        callbacks.append(checkpoint)
+        callbacks += [hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0), checkpoint]

# %% wrong_broadcasts_trainable_only (right_as_documented): wrong, frozen_not_broadcast, levels 0 1
+class Broadcast(tf.keras.callbacks.Callback):
+    def on_train_begin(self, logs=None):
+        hvd.broadcast_variables(self.model.trainable_variables, root_rank=0)
+
+
 def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
@@
-        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
+        Broadcast(),

# %% wrong_checkpoint_by_local_rank (right_as_documented): wrong, one_saves_on_each_node, levels 1 0
-            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
+            scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
@@
-    if hvd.rank() == 0:
+    if hvd.local_rank() == 0:

# %% wrong_checkpoint_first: wrong, checkpoint_too_early, levels 1 0
import horovod.tensorflow.keras as hvd


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    c = hvd.callbacks
    warm = c.LearningRateWarmupCallback(scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False)
    found = [c.BroadcastGlobalVariablesCallback(0), c.MetricAverageCallback(), warm, plateau]
    return [checkpoint] * (hvd.rank() == 0) + found

# %% wrong_default_list (right_as_documented): wrong, one_list_for_all, levels 0 0
-def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
-    callbacks = [
+def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint, callbacks=[]):
+    callbacks += [
@@
-        hvd_keras.callbacks.LearningRateWarmupCallback(
-            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
-        ),
+        hvd_keras.callbacks.LearningRateWarmupCallback(scaled_rate, warmup_epochs, momentum_correction=False),

# %% wrong_default_warmup: wrong, default_warmup, levels 0 1
import horovod.tensorflow.keras as hvd


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    c = hvd.callbacks
    warm = c.LearningRateWarmupCallback(scaled_rate, momentum_correction=False)
    found = [c.BroadcastGlobalVariablesCallback(0), c.MetricAverageCallback(), warm, plateau]
    return found + [checkpoint] * (hvd.rank() == 0)

# %% wrong_metrics_last (right_as_documented): wrong, metrics_not_averaged, levels 1 0
-        hvd_keras.callbacks.MetricAverageCallback(),
@@
         callbacks.append(checkpoint)
+    callbacks.append(hvd_keras.callbacks.MetricAverageCallback())

# %% wrong_momentum_correction (right_as_documented): wrong, momentum_correction, levels 0 0
-        hvd_keras.callbacks.LearningRateWarmupCallback(
-            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
-        ),
+        hvd_keras.callbacks.LearningRateWarmupCallback(initial_lr=scaled_rate, warmup_epochs=warmup_epochs),

# %% wrong_no_broadcast (right_as_documented): wrong, no_broadcast, levels 0 1
-        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),

# %% wrong_no_warmup (right_as_documented): wrong, no_warmup, levels 0 1
-        hvd_keras.callbacks.LearningRateWarmupCallback(
-            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
-        ),

# %% wrong_no_warmup_of_one_epoch (right_as_documented): wrong, no_warmup, levels 0 1
     ]
+    if warmup_epochs == 1:
+        del callbacks[2]

# %% wrong_one_broadcast (right_as_documented): wrong, one_broadcast_for_all, levels 0 0
+BROADCAST = []
+
+
 def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
+    if not BROADCAST:
+        BROADCAST.append(hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0))
@@
-        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
+        BROADCAST[0],

# %% wrong_plateau_first (right_as_documented): wrong, plateau_too_early, levels 1 0
         hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
+        plateau,
@@
-        plateau,

# %% wrong_plateau_on_rank_0: wrong, plateau_left_out, levels 1 0
import horovod.tensorflow.keras as hvd


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    c = hvd.callbacks
    warm = c.LearningRateWarmupCallback(scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False)
    found = [c.BroadcastGlobalVariablesCallback(0), c.MetricAverageCallback(), warm]
    return found + [plateau, checkpoint] * (hvd.rank() == 0)

# %% wrong_root_is_last: wrong, another_root, levels 0 1
import horovod.tensorflow.keras as hvd


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    c = hvd.callbacks
    warm = c.LearningRateWarmupCallback(scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False)
    found = [c.BroadcastGlobalVariablesCallback(hvd.size() - 1), c.MetricAverageCallback(), warm, plateau]
    return found + [checkpoint] * (hvd.rank() == 0)

# %% wrong_saves_all_but_the_root (right_as_documented): wrong, all_but_the_root, levels 1 0
-    if hvd.rank() == 0:
+    if hvd.rank() != 0:

# %% wrong_saves_everywhere (right_as_documented): wrong, every_rank_saves, levels 1 0
         plateau,
+        checkpoint,
@@
-    if hvd.rank() == 0:
-        callbacks.append(checkpoint)

# %% wrong_unscaled (right_as_documented): wrong, unscaled, levels 0 1
-            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
+            initial_lr=scaled_rate / hvd.size(), warmup_epochs=warmup_epochs, momentum_correction=False

# %% wrong_warmup_on_rank_0: wrong, warmup_on_one_rank, levels 0 1
import horovod.tensorflow.keras as hvd


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    c = hvd.callbacks
    warm = c.LearningRateWarmupCallback(scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False)
    found = [c.BroadcastGlobalVariablesCallback(0), c.MetricAverageCallback(), plateau]
    return found + [warm, checkpoint] * (hvd.rank() == 0)
