# Right and wrong answers to `mirrored_gradients`. In files of their own: autograder bank --write DIR
import numpy as np
import tensorflow as tf

# %% right_dataset: passed
def mirrored_gradients(strategy, model, x, y):
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(len(x))
    error = tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.NONE)

    @tf.function
    def step(x_own, y_own):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(error(y_own, model(x_own)), global_batch_size=len(x))
        return tape.gradient(loss, model.trainable_variables)

    for minibatch in strategy.experimental_distribute_dataset(dataset):
        found = strategy.run(step, args=minibatch)
    return [strategy.reduce("SUM", one, axis=None) for one in found]

# %% right_mean_of_scaled: passed
def mirrored_gradients(strategy, model, x, y):
    replicas = strategy.num_replicas_in_sync
    parts = list(zip(np.array_split(x, replicas), np.array_split(y, replicas)))
    mine = strategy.experimental_distribute_values_from_function(lambda c: parts[c.replica_id_in_sync_group][0])
    target = strategy.experimental_distribute_values_from_function(lambda c: parts[c.replica_id_in_sync_group][1])

    def replica_step(inputs, wanted):
        with tf.GradientTape() as tape:
            errors = tf.math.squared_difference(model(inputs), wanted)
            objective = replicas * tf.reduce_sum(errors) / y.size
        gradients = tape.gradient(objective, model.trainable_variables)
        context = tf.distribute.get_replica_context()
        return [context.all_reduce(tf.distribute.ReduceOp.MEAN, gradient) for gradient in gradients]

    return strategy.run(replica_step, args=(mine, target))

# %% right_values: passed
# differs: The rows are dealt out by hand and the gradients summed inside the replicas, which leaves the same sum on each.
def mirrored_gradients(strategy, model, x, y):
    n, p = len(x), strategy.num_replicas_in_sync
    shares = np.array_split(np.arange(n), p)

    def step(rows):
        with tf.GradientTape() as tape:
            losses = tf.reduce_mean((model(tf.gather(x, rows)) - tf.gather(y, rows)) ** 2, axis=1)
            loss = tf.reduce_sum(losses) / n
        g = tape.gradient(loss, model.trainable_variables)
        return tf.distribute.get_replica_context().all_reduce("sum", g)

    rows = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(shares[context.replica_id_in_sync_group])
    )
    return strategy.run(step, args=(rows,))

# %% wrong_all_variables (right_values): raised, AttributeError, levels 0 0
-        g = tape.gradient(loss, model.trainable_variables)
+        g = tape.gradient(loss, model.variables)

# %% wrong_dataset_of_means (right_dataset): wrong, mean_per_replica, levels 0 0
-            loss = tf.nn.compute_average_loss(error(y_own, model(x_own)), global_batch_size=len(x))
+            loss = tf.reduce_mean(error(y_own, model(x_own)))

# %% wrong_everything_everywhere: wrong, all_on_every_replica, levels 0 0
def mirrored_gradients(strategy, model, x, y):
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.mean_squared_error(y, model(tf.constant(x))))
        g = tape.gradient(loss, model.trainable_variables)
        return tf.distribute.get_replica_context().all_reduce("mean", g)

    return strategy.run(step)

# %% wrong_looks_first: wrong, samples_twice, levels 0 0
def mirrored_gradients(strategy, model, x, y):
    n, replicas = len(x), strategy.num_replicas_in_sync

    def step():
        context = tf.distribute.get_replica_context()
        own = slice(int(context.replica_id_in_sync_group), None, replicas)
        model(tf.constant(x[own]))  # to see the shapes
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(tf.constant(x[own])) - y[own]) ** 2) / y[own].shape[1] / n
        return context.all_reduce("sum", tape.gradient(loss, model.trainable_variables))

    return strategy.run(step)

# %% wrong_loss_object (right_dataset): raised, ValueError, levels 0 0
-    error = tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.NONE)
+    error = tf.keras.losses.MeanSquaredError()
@@
-            loss = tf.nn.compute_average_loss(error(y_own, model(x_own)), global_batch_size=len(x))
+            loss = error(y_own, model(x_own))

# %% wrong_mean_of_means (right_values): wrong, mean_of_means, levels 1 0
-            loss = tf.reduce_sum(losses) / n
+            loss = tf.reduce_mean(losses) if len(rows) else tf.reduce_sum(losses)
@@
-        return tf.distribute.get_replica_context().all_reduce("sum", g)
+        return tf.distribute.get_replica_context().all_reduce("mean", g)

# %% wrong_mean_of_shares (right_values): wrong, divided_again, levels 0 0
-        return tf.distribute.get_replica_context().all_reduce("sum", g)
+        return tf.distribute.get_replica_context().all_reduce("mean", g)

# %% wrong_no_strategy: wrong, outside_the_replicas, levels 0 0
def mirrored_gradients(strategy, model, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.keras.losses.mean_squared_error(y, model(tf.constant(x))))
    return tape.gradient(loss, model.trainable_variables)

# %% wrong_outputs_added: wrong, outputs_added, levels 0 0
def mirrored_gradients(strategy, model, x, y):
    n, replicas = len(x), strategy.num_replicas_in_sync

    def step():
        context = tf.distribute.get_replica_context()
        own = slice(int(context.replica_id_in_sync_group), None, replicas)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(tf.constant(x[own])) - y[own]) ** 2) / n
        return context.all_reduce("sum", tape.gradient(loss, model.trainable_variables))

    return strategy.run(step)

# %% wrong_own_share (right_values): wrong, not_reduced, levels 0 0
-        g = tape.gradient(loss, model.trainable_variables)
-        return tf.distribute.get_replica_context().all_reduce("sum", g)
+        return tape.gradient(loss, model.trainable_variables)

# %% wrong_probe_call: wrong, samples_twice, levels 0 0
def mirrored_gradients(strategy, model, x, y):
    p, n = strategy.num_replicas_in_sync, len(x)
    outputs = int(model(x[:1]).shape[-1])
    xs, ys = np.array_split(x, p), np.array_split(y, p)

    def part(pieces):
        return strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(pieces[context.replica_id_in_sync_group])
        )

    def replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(x) - y) ** 2) / (n * outputs)
        return tape.gradient(loss, model.trainable_variables)

    gradients = strategy.run(replica, args=(part(xs), part(ys)))
    return [strategy.reduce("sum", g, axis=None) for g in gradients]

# %% wrong_rest_to_the_last (right_values): wrong, unequal_work, levels 1 0
     shares = np.array_split(np.arange(n), p)
+
+    k = n // p
+    shares = [np.arange(r * k, n if r == p - 1 else (r + 1) * k) for r in range(p)]

# %% wrong_sample_for_the_idle (right_values): wrong, sample_counts_twice, levels 1 0
-    shares = np.array_split(np.arange(n), p)
+    shares = [k if len(k) else np.array([0]) for k in np.array_split(np.arange(n), p)]

# %% wrong_sum (right_values): wrong, not_divided, levels 0 0
-            loss = tf.reduce_sum(losses) / n
-        g = tape.gradient(loss, model.trainable_variables)
+        g = tape.gradient(losses, model.trainable_variables)

# %% wrong_whole_arguments: wrong, all_on_every_replica, levels 0 0
def mirrored_gradients(strategy, model, x, y):
    def step(x, y):
        with tf.GradientTape() as tape:
            losses = tf.keras.losses.mean_squared_error(y, model(x))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=len(x))
        return tape.gradient(loss, model.trainable_variables)

    found = strategy.run(step, args=(x, y))
    return [strategy.reduce("SUM", gradient, axis=None) for gradient in found]
