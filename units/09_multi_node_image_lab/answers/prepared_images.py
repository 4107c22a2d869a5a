# Right and wrong answers to `prepared_images`. In files of their own: autograder bank --write DIR
import tensorflow as tf

# %% right_asks_until_it_is_there: passed
import time


def prepared_images(hvd, is_ready, prepare, load):
    if hvd.local_rank() == 0 and not is_ready():
        prepare()
    while not is_ready():
        time.sleep(0.01)
    return load()

# %% right_broadcast_object: passed
# differs: The meeting is a broadcast of a word: nobody has it before rank 0 is done preparing.
def prepared_images(hvd, is_ready, prepare, load):
    if hvd.local_rank() == 0:
        if not is_ready():
            prepare()
    hvd.broadcast_object("ready", root_rank=0, name="ready")
    images = load()
    return images

# %% right_everybody_agrees: passed
def prepared_images(hvd, is_ready, prepare, load):
    missing = hvd.local_rank() == 0 and not is_ready()
    if any(hvd.allgather_object(missing)):
        if missing:
            prepare()
        hvd.allgather_object(None)
    return load()

# %% right_local_rank_then_meet: passed
# differs: The first rank of each node prepares, and an all-reduce of a number is the meeting: it ends when all have come.
def prepared_images(hvd, is_ready, prepare, load):
    if hvd.local_rank() == 0 and not is_ready():
        prepare()
    hvd.allreduce(tf.constant(0.0))
    return load()

# %% wrong_all_but_the_first (right_local_rank_then_meet): wrong, all_but_the_first, levels 0 0 0
-    if hvd.local_rank() == 0 and not is_ready():
+    if hvd.local_rank() and not is_ready():

# %% wrong_alone_on_its_node (right_broadcast_object): hung, mismatched_collective, levels 1 1 0
-    hvd.broadcast_object("ready", root_rank=0, name="ready")
+    if hvd.local_size() > 1:
+        hvd.broadcast_object("ready", root_rank=0, name="ready")

# %% wrong_as_array (right_local_rank_then_meet): raised, ValueError, levels 1 0 1
+import numpy as np
+
+
 def prepared_images(hvd, is_ready, prepare, load):
@@
-    return load()
+    return np.array(load())

# %% wrong_barrier_of_pytorch (right_local_rank_then_meet): raised, AttributeError, levels 0 0 0
-    hvd.allreduce(tf.constant(0.0))
+    hvd.barrier()

# %% wrong_by_node (right_local_rank_then_meet): wrong, whole_node, levels 0 0 0
-    if hvd.local_rank() == 0 and not is_ready():
+    if hvd.cross_rank() == 0 and not is_ready():

# %% wrong_by_rank (right_local_rank_then_meet): wrong, by_rank, levels 0 1 0
-    if hvd.local_rank() == 0 and not is_ready():
+    if hvd.rank() == 0 and not is_ready():

# %% wrong_every_rank (right_local_rank_then_meet): wrong, every_rank, levels 0 0 0
-    if hvd.local_rank() == 0 and not is_ready():
+    if not is_ready():

# %% wrong_made_again (right_local_rank_then_meet): wrong, made_again, levels 1 1 0
-    if hvd.local_rank() == 0 and not is_ready():
+    if hvd.local_rank() == 0:

# %% wrong_meets_first (right_local_rank_then_meet): wrong, read_too_early, levels 0 0 0
 def prepared_images(hvd, is_ready, prepare, load):
+    hvd.allreduce(tf.constant(0.0))
@@
-    hvd.allreduce(tf.constant(0.0))

# %% wrong_meets_where_it_is_missing: hung, mismatched_collective, levels 1 1 0
def prepared_images(hvd, is_ready, prepare, load):
    if not is_ready():
        if hvd.local_rank() == 0:
            prepare()
        hvd.allreduce(tf.constant(0.0))
    return load()

# %% wrong_no_meeting (right_local_rank_then_meet): wrong, read_too_early, levels 0 0 0
-    hvd.allreduce(tf.constant(0.0))

# %% wrong_rank_modulo (right_local_rank_then_meet): wrong, rank_modulo, levels 0 1 1
-    if hvd.local_rank() == 0 and not is_ready():
+    if hvd.rank() % hvd.local_size() == 0 and not is_ready():

# %% wrong_returns_nothing (right_local_rank_then_meet): wrong, not_returned, levels 0 0 0
-    return load()
+    load()

# %% wrong_sends_the_data (right_local_rank_then_meet): wrong, sent_over_network, levels 0 0 0
-    hvd.allreduce(tf.constant(0.0))
-    return load()
+    images = load() if hvd.rank() == 0 else None
+    return hvd.broadcast_object(images, root_rank=0)
