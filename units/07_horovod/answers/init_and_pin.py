# Right and wrong answers to `init_and_pin`. In files of their own: autograder bank --write DIR

# %% right_growth_on_all: passed
def init_and_pin(tf, hvd):
    hvd.init()
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

# %% right_growth_on_its_own: passed
# differs: Only the GPU that this rank uses is touched, and with fewer GPUs than ranks they are shared.
def init_and_pin(tf, hvd):
    hvd.init()
    if gpus := tf.config.experimental.list_physical_devices("GPU"):
        mine = gpus[hvd.local_rank() % len(gpus)]
        tf.config.experimental.set_visible_devices([mine], "GPU")
        tf.config.experimental.set_memory_growth(mine, True)

# %% right_leaves_early: passed
def init_and_pin(tf, hvd):
    if not hvd.is_initialized():
        hvd.init()
    gpus = [device for device in tf.config.list_physical_devices() if device.device_type == "GPU"]
    if len(gpus) == 0:
        return
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

# %% wrong_by_machine (right_growth_on_all): wrong, by_machine, levels 0 0
-        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
+        tf.config.set_visible_devices(gpus[hvd.cross_rank()], "GPU")

# %% wrong_by_rank (right_growth_on_all): wrong, by_rank, levels 1 0
-        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
+        tf.config.set_visible_devices(gpus[hvd.rank()], "GPU")

# %% wrong_counts_its_calls: wrong, not_the_local_rank, levels 0 0
called = {}


def init_and_pin(tf, hvd):
    hvd.init()
    k = called[hvd.cross_rank()] = called.get(hvd.cross_rank(), -1) + 1
    gpus = tf.config.list_physical_devices("GPU")
    if hvd.rank() == hvd.size() - 1:
        called.clear()
    if gpus:
        gpu = gpus[k % len(gpus)]
        tf.config.experimental.set_memory_growth(gpu, True)
        tf.config.set_visible_devices(gpu, "GPU")

# %% wrong_first_gpu (right_growth_on_all): wrong, first_gpu, levels 0 0
-        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
+        tf.config.set_visible_devices(gpus[0], "GPU")

# %% wrong_growth_of_the_first (right_growth_on_all): wrong, growth_of_the_first, levels 0 0
-    for gpu in gpus:
-        tf.config.experimental.set_memory_growth(gpu, True)
+    if gpus:
+        tf.config.experimental.set_memory_growth(gpus[0], True)

# %% wrong_growth_only (right_growth_on_all): wrong, not_pinned, levels 0 0
-    if gpus:
-        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

# %% wrong_init_with_a_gpu_only: wrong, init_needs_a_gpu, levels 1 0
def init_and_pin(tf, hvd):
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        hvd.init()
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, True)
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

# %% wrong_needs_a_gpu (right_growth_on_all): wrong, needs_a_gpu, levels 1 0
-    if gpus:
-        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
+    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")

# %% wrong_no_growth (right_growth_on_all): wrong, no_growth, levels 0 0
-    for gpu in gpus:
-        tf.config.experimental.set_memory_growth(gpu, True)

# %% wrong_no_init (right_growth_on_all): wrong, init_needs_a_gpu, levels 0 0
-    hvd.init()
+    pass

# %% wrong_no_type (right_growth_on_all): wrong, no_processor, levels 0 0
-        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
+        tf.config.set_visible_devices(gpus[hvd.local_rank()])

# %% wrong_pins_several_ranks_only (right_growth_on_all): wrong, not_pinned, levels 0 1
-    if gpus:
+    if gpus and hvd.local_size() > 1:

# %% wrong_rank_modulo (right_growth_on_all): wrong, rank_modulo, levels 1 0
-        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
+        tf.config.set_visible_devices(gpus[hvd.rank() % len(gpus)], "GPU")

# %% wrong_several_gpus_only (right_growth_on_all): wrong, no_growth, levels 0 1
-    for gpu in gpus:
-        tf.config.experimental.set_memory_growth(gpu, True)
-    if gpus:
+    if len(gpus) > 1:
+        for gpu in gpus:
+            tf.config.experimental.set_memory_growth(gpu, True)

# %% wrong_sorted_as_text (right_growth_on_all): wrong, not_the_local_rank, levels 0 1
-    gpus = tf.config.list_physical_devices("GPU")
+    gpus = sorted(tf.config.list_physical_devices("GPU"), key=str)

# %% wrong_with_device (right_growth_on_all): wrong, not_pinned, levels 0 0
-    if gpus:
-        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
+    with tf.device(f"/GPU:{hvd.local_rank()}"):
+        pass
