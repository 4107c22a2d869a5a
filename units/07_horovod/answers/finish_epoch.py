# Right and wrong answers to `finish_epoch`. In files of their own: autograder bank --write DIR
import horovod.tensorflow as hvd
import tensorflow as tf

# %% right_averages_of_sums: passed
def finish_epoch(save, loss, accuracy, count):
    mean_count = hvd.allreduce(tf.constant(count, tf.float64))
    loss = (hvd.allreduce(tf.constant(loss * count, tf.float64)) / mean_count).numpy()
    accuracy = (hvd.allreduce(tf.constant(accuracy * count, tf.float64)) / mean_count).numpy()
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}

# %% right_gathered: passed
def finish_epoch(save, loss, accuracy, count):
    all_of_them = hvd.allgather_object((loss, accuracy, count))
    total = sum(n for _, _, n in all_of_them)
    loss = sum(one * n for one, _, n in all_of_them) / total
    accuracy = sum(a * n for _, a, n in all_of_them) / total
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}

# %% right_one_sum: passed
# differs: Loss, hits and count are added up in one tensor: one message where three sums take three.
def finish_epoch(save, loss, accuracy, count):
    sums = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float32), op=hvd.Sum)
    loss, accuracy = sums[0] / sums[2], sums[1] / sums[2]
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}

# %% right_rounded_hits: passed
# differs: A mean times a count is the number of right samples: rounded, it is a whole number again, and sums of whole numbers are exact.
def finish_epoch(save, loss, accuracy, count):
    right, total = hvd.allreduce(tf.constant([round(accuracy * count), count]), op=hvd.Sum).numpy()
    loss = hvd.allreduce(tf.constant(loss * count), op=hvd.Sum) / total
    if hvd.rank() == 0:
        save()
    return {"loss": float(loss), "accuracy": float(right / total)}

# %% right_three_sums: passed
def finish_epoch(save, loss, accuracy, count):
    total = hvd.allreduce(tf.constant(float(count)), op=hvd.Sum)
    loss = float(hvd.allreduce(tf.constant(loss * count), op=hvd.Sum) / total)
    accuracy = float(hvd.allreduce(tf.constant(accuracy * count), op=hvd.Sum) / total)
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}

# %% wrong_accuracy_plain: wrong, accuracy_not_weighted, levels 0 1
def finish_epoch(save, loss, accuracy, count):
    s = hvd.allreduce(tf.constant([loss * count, count], tf.float64), op=hvd.Sum).numpy()
    accuracy = hvd.allreduce(tf.constant(accuracy, tf.float64))
    if hvd.rank() == 0:
        save()
    return {"loss": float(s[0] / s[1]), "accuracy": float(accuracy)}

# %% wrong_at_least_one_sample (right_one_sum): wrong, empty_rank_counted, levels 0 1
 def finish_epoch(save, loss, accuracy, count):
+    count = max(count, 1)

# %% wrong_average_over_sum: wrong, divided_again, levels 0 1
def finish_epoch(save, loss, accuracy, count):
    v = hvd.allreduce(tf.constant([loss * count, accuracy * count], tf.float64), op=hvd.Average).numpy()
    n = hvd.allreduce(tf.constant(count, tf.float64), op=hvd.Sum).numpy()
    if hvd.rank() == 0:
        save()
    return {"loss": float(v[0] / n), "accuracy": float(v[1] / n)}

# %% wrong_before_and_after: wrong, saves_twice, levels 1 0
def finish_epoch(save, loss, accuracy, count):
    if hvd.rank() == 0:
        save()
    s = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float64), op=hvd.Sum).numpy()
    if hvd.rank() == 0:
        save()
    return {"loss": float(s[0] / s[2]), "accuracy": float(s[1] / s[2])}

# %% wrong_its_own (right_one_sum): wrong, own_only, levels 0 0
-    sums = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float32), op=hvd.Sum)
-    loss, accuracy = sums[0] / sums[2], sums[1] / sums[2]
+    pass

# %% wrong_mean_of_means (right_one_sum): wrong, mean_of_means, levels 0 1
-    sums = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float32), op=hvd.Sum)
-    loss, accuracy = sums[0] / sums[2], sums[1] / sums[2]
+    loss = float(hvd.allreduce(tf.constant(loss)))
+    accuracy = float(hvd.allreduce(tf.constant(accuracy)))

# %% wrong_never_saves (right_three_sums): wrong, never_saved, levels 1 0
-    if hvd.rank() == 0:
-        save()

# %% wrong_not_without_samples: wrong, not_without_samples, levels 1 0
def finish_epoch(save, loss, accuracy, count):
    s = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float64), op=hvd.Sum).numpy()
    if hvd.rank() == 0 and count > 0:
        save()
    return {"loss": float(s[0] / s[2]), "accuracy": float(s[1] / s[2])}

# %% wrong_own_count (right_one_sum): wrong, divided_by_own_count, levels 0 1
-    sums = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float32), op=hvd.Sum)
-    loss, accuracy = sums[0] / sums[2], sums[1] / sums[2]
+    loss = float(hvd.allreduce(tf.constant(loss * count), op=hvd.Sum)) / max(count, 1)
+    accuracy = float(hvd.allreduce(tf.constant(accuracy * count), op=hvd.Sum)) / max(count, 1)

# %% wrong_own_count_as_divisor: wrong, average_over_own_count, levels 0 1
def finish_epoch(save, loss, accuracy, count):
    mine = tf.constant([loss * count, accuracy * count], dtype=tf.float64)
    mean = hvd.allreduce(mine, op=hvd.Average)
    if hvd.rank() == 0:
        save()
    divisor = max(count, 1)
    return {"loss": float(mean[0]) / divisor, "accuracy": float(mean[1]) / divisor}

# %% wrong_plain_numbers: raised, AttributeError, levels 0 0
def finish_epoch(save, loss, accuracy, count):
    if hvd.rank() == 0:
        save()
    return {"loss": float(hvd.allreduce(loss)), "accuracy": float(hvd.allreduce(accuracy))}

# %% wrong_result_on_root: wrong, root_alone, levels 0 1
def finish_epoch(save, loss, accuracy, count):
    s = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float64), op=hvd.Sum).numpy()
    if hvd.rank() == 0:
        save()
        loss, accuracy = float(s[0] / s[2]), float(s[1] / s[2])
    return {"loss": loss, "accuracy": accuracy}

# %% wrong_root_averages_alone: hung, missing_rank, levels 0 0
def finish_epoch(save, loss, accuracy, count):
    if hvd.rank() == 0:
        save()
        total = hvd.allreduce(tf.constant(float(count)), op=hvd.Sum)
        loss = hvd.allreduce(tf.constant(loss * count), op=hvd.Sum) / total
        accuracy = hvd.allreduce(tf.constant(accuracy * count), op=hvd.Sum) / total
    return {"loss": float(loss), "accuracy": float(accuracy)}

# %% wrong_saves_all_but_the_root (right_three_sums): wrong, all_but_the_root, levels 1 0
-    if hvd.rank() == 0:
+    if hvd.rank() != 0:

# %% wrong_saves_everywhere (right_three_sums): wrong, every_rank_saves, levels 1 0
-    if hvd.rank() == 0:
-        save()
+    save()

# %% wrong_saves_per_machine (right_three_sums): wrong, once_per_machine, levels 1 0
-    if hvd.rank() == 0:
+    if hvd.local_rank() == 0:

# %% wrong_sum_of_means (right_one_sum): wrong, sum_of_means, levels 0 1
-    sums = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float32), op=hvd.Sum)
-    loss, accuracy = sums[0] / sums[2], sums[1] / sums[2]
+    loss = float(hvd.allreduce(tf.constant(loss), op=hvd.Sum))
+    accuracy = float(hvd.allreduce(tf.constant(accuracy), op=hvd.Sum))

# %% wrong_whole_hits (right_one_sum): wrong, hits_cut_off, levels 0 1
-    sums = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float32), op=hvd.Sum)
+    hits = int(accuracy * count)
+    sums = hvd.allreduce(tf.constant([loss * count, hits, count], tf.float32), op=hvd.Sum)
