# Right and wrong answers to `port`. In files of their own: autograder bank --write DIR
import tensorflow as tf

# %% right_arrays: passed
# differs: `fit` takes arrays and the global batch, and the strategy cuts them; shuffling is switched off, so that the order is that of one process.
def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
    batch = local_batch * strategy.num_replicas_in_sync
    model.fit(x, y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0)
    save(model, "checkpoint" if index == 0 else f"scratch-{index}")

# %% right_fit: passed
def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p)
    model.fit(data, epochs=epochs, verbose=0)
    save(model, "checkpoint" if index == 0 else f"scratch-{index}")

# %% right_own_loop: passed
def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        optimizer = tf.keras.optimizers.SGD(rate * p)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p)
    @tf.function
    def step(x_own, y_own):
        def replica(x_own, y_own):
            with tf.GradientTape() as tape:
                losses = tf.keras.losses.mean_squared_error(y_own, model(x_own, training=True))
                loss = tf.nn.compute_average_loss(losses, global_batch_size=local_batch * p)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

        strategy.run(replica, args=(x_own, y_own))

    for _ in range(epochs):
        for x_own, y_own in strategy.experimental_distribute_dataset(data):
            step(x_own, y_own)
    save(model, "checkpoint" if index == 0 else f"scratch-{index}")

# %% wrong_all_save (right_fit): wrong, all_to_the_same_file, levels 1 0
-    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
+    save(model, "checkpoint")

# %% wrong_as_in_an_evaluation (right_own_loop): wrong, evaluation_mode, levels 0 1
-                losses = tf.keras.losses.mean_squared_error(y_own, model(x_own, training=True))
+                losses = tf.keras.losses.mean_squared_error(y_own, model(x_own))

# %% wrong_begins_at_its_index (right_arrays): wrong, unrecognised, levels 0 1
-    batch = local_batch * strategy.num_replicas_in_sync
-    model.fit(x, y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0)
+    mine = tf.data.Dataset.from_tensor_slices((x, y)).skip(index * local_batch)
+    model.fit(mine.batch(local_batch * p), epochs=epochs, verbose=0)

# %% wrong_chief_saves (right_fit): wrong, only_the_chief_saves, levels 1 0
-    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
+    if index == 0:
+        save(model, "checkpoint")

# %% wrong_chief_trains (right_fit): wrong, trained_by_the_chief, levels 0 1
     p = strategy.num_replicas_in_sync
+    chief = index == 0
@@
-    model.fit(data, epochs=epochs, verbose=0)
-    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
+    model.fit(data, epochs=epochs if chief else 0, verbose=0)
+    save(model, "checkpoint" if chief else f"scratch-{index}")

# %% wrong_each_epoch (right_arrays): wrong, saved_each_epoch, levels 0 0
-    batch = local_batch * strategy.num_replicas_in_sync
-    model.fit(x, y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0)
-    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
+    for _ in range(epochs):
+        model.fit(x, y, batch_size=local_batch * p, shuffle=False, verbose=0)
+        save(model, "checkpoint" if index == 0 else f"scratch-{index}")

# %% wrong_keras_shuffles (right_arrays): wrong, shuffled, levels 0 1
-    model.fit(x, y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0)
+    model.fit(x, y, batch_size=batch, epochs=epochs, verbose=0)

# %% wrong_local_batch (right_fit): wrong, batch_is_local, levels 0 1
-    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p)
+    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch)

# %% wrong_model_outside (right_fit): raised, ValueError, levels 0 0
     p = strategy.num_replicas_in_sync
+    model = build_model()
@@
-        model = build_model()

# %% wrong_never_saves (right_fit): wrong, not_saved, levels 0 0
-    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
+    return None

# %% wrong_numbers_all (right_arrays): wrong, chief_elsewhere, levels 0 1
-    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
+    save(model, f"checkpoint-{index}")

# %% wrong_one_epoch (right_fit): wrong, one_epoch, levels 0 0
-    model.fit(data, epochs=epochs, verbose=0)
+    model.fit(data, verbose=0)

# %% wrong_one_replica (right_fit): wrong, one_replica_only, levels 0 1
-        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
@@
-    model.fit(data, epochs=epochs, verbose=0)
+    for _ in range(epochs):
+        for x_all, y_all in data:
+            with tf.GradientTape() as tape:
+                loss = tf.reduce_mean(tf.keras.losses.mean_squared_error(y_all, model(x_all)))
+            gradients = tape.gradient(loss, model.trainable_variables)
+            for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
+                variable.assign_sub(rate * p * gradient)

# %% wrong_one_scratch (right_arrays): wrong, one_place_for_the_others, levels 1 0
-    batch = local_batch * strategy.num_replicas_in_sync
-    model.fit(x, y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0)
-    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
+    model.fit(x, y, batch_size=local_batch * p, epochs=epochs, shuffle=False, verbose=0)
+    save(model, "checkpoint" if index == 0 else "scratch")

# %% wrong_outside_scope (right_fit): wrong, model_outside_scope, levels 0 0
-    with strategy.scope():
+    if True:

# %% wrong_policy_off (right_fit): wrong, auto_shard_off, levels 0 0
-    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p)
+    options = tf.data.Options()
+    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
+    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p).with_options(options)

# %% wrong_rate_of_one (right_fit): wrong, unscaled, levels 0 1
-        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
+        model.compile(tf.keras.optimizers.SGD(rate), loss="mse")

# %% wrong_saves_early (right_arrays): wrong, saved_too_early, levels 0 1
-    batch = local_batch * strategy.num_replicas_in_sync
-    model.fit(x, y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0)
@@
     save(model, "checkpoint" if index == 0 else f"scratch-{index}")
+    model.fit(x, y, batch_size=local_batch * p, epochs=epochs, shuffle=False, verbose=0)

# %% wrong_saves_weights (right_fit): wrong, saves_weights, levels 0 0
-    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
+    save(model.get_weights(), "checkpoint" if index == 0 else f"scratch-{index}")

# %% wrong_sharded_by_hand (right_fit): wrong, sharded_by_hand, levels 0 1
-    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p)
+    data = tf.data.Dataset.from_tensor_slices((x, y)).shard(p, index).batch(local_batch * p)

# %% wrong_summed (right_own_loop): wrong, scaled_twice, levels 0 1
-                loss = tf.nn.compute_average_loss(losses, global_batch_size=local_batch * p)
+                loss = tf.reduce_mean(losses)
