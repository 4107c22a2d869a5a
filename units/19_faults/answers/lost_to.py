# Right and wrong answers to `lost_to`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_arrays: passed
# differs: Sorted rows give who came last and by how much, for all steps at once.
def lost_to(posted, ended):
    inorder = np.sort(posted, axis=1)
    last = posted.argmax(axis=1)
    ranks = np.zeros(posted.shape[1])
    np.add.at(ranks, last, inorder[:, -1] - inorder[:, -2])
    return ranks.tolist(), (ended.max(axis=1) - inorder[:, -1]).sum()

# %% right_loop: passed
def lost_to(posted, ended):
    ranks, network = [0.0] * posted.shape[1], 0.0
    for came, left in zip(posted, ended):
        order = np.argsort(came)
        ranks[order[-1]] += came[order[-1]] - came[order[-2]]
        network += left.max() - came[order[-1]]
    return ranks, network

# %% wrong_an_array (right_arrays): wrong, other_type, levels 0 0
-    return ranks.tolist(), (ended.max(axis=1) - inorder[:, -1]).sum()
+    return ranks, (ended.max(axis=1) - inorder[:, -1]).sum()

# %% wrong_distinct_times: wrong, unrecognised, levels 0 1
def lost_to(posted, ended):
    steps, ranks = posted.shape
    lost = [0.0] * ranks
    network = 0.0
    for s in range(steps):
        order = np.argsort(posted[s])
        values = np.unique(posted[s])
        last, other = order[-1], order[-2]
        lost[int(last)] += float(posted[s, last] - (values[-2] if len(values) > 1 else values[-1]))
        network += float(ended[s].max() - posted[s, last])
    return lost, network

# %% wrong_ends (right_loop): wrong, mean_of_the_network, levels 0 0
-        network += left.max() - came[order[-1]]
+        network += left.mean() - came[order[-1]]

# %% wrong_float32: wrong, lost_digits, levels 0 0
def lost_to(posted, ended):
    ranks, network = np.zeros(posted.shape[1], dtype=np.float32), np.float32(0)
    for came, left in zip(posted, ended):
        last = came.argmax()
        ranks[last] += np.sort(came)[-1] - np.sort(came)[-2]
        network += np.float32(left.max() - came[last])
    return ranks.tolist(), float(network)

# %% wrong_longest_wait (right_loop): wrong, blames_who_waits, levels 0 0
-        ranks[order[-1]] += came[order[-1]] - came[order[-2]]
+        ranks[order[0]] += came[order[1]] - came[order[0]]

# %% wrong_mean (right_loop): wrong, blames_against_the_mean, levels 0 0
-        ranks[order[-1]] += came[order[-1]] - came[order[-2]]
+        ranks[order[-1]] += came[order[-1]] - came.mean()

# %% wrong_mean_of_equals: wrong, blames_against_the_mean, levels 0 0
def lost_to(posted, ended):
    lost = [0.0] * posted.shape[1]
    for came in posted:
        lost[int(came.argmax())] += float(came.max() - came.mean())
    return lost, float((ended.max(axis=1) - posted.max(axis=1)).sum())

# %% wrong_network (right_loop): wrong, waiting_is_network, levels 0 0
-        network += left.max() - came[order[-1]]
+        network += left.max() - came.min()

# %% wrong_once_for_each_index (right_arrays): wrong, one_step_of_each_rank, levels 0 0
-    np.add.at(ranks, last, inorder[:, -1] - inorder[:, -2])
+    ranks[last] += inorder[:, -1] - inorder[:, -2]

# %% wrong_own_end: wrong, end_of_the_last_to_call, levels 0 0
def lost_to(posted, ended):
    ranks = [0.0] * posted.shape[1]
    network = 0.0
    for start, end in zip(posted, ended):
        *_, second, last = np.argsort(start, kind="stable")
        ranks[last] += float(start[last] - start[second])
        network += float(end[last] - start[last])
    return ranks, network

# %% wrong_per_step (right_loop): wrong, mean_for_sum, levels 0 0
-    return ranks, network
+    return [one / len(posted) for one in ranks], network / len(posted)

# %% wrong_since_the_first (right_loop): wrong, blames_against_the_first, levels 0 0
-        ranks[order[-1]] += came[order[-1]] - came[order[-2]]
+        ranks[order[-1]] += came[order[-1]] - came[order[0]]

# %% wrong_since_the_first_of_equals: wrong, blames_against_the_first, levels 0 0
def lost_to(posted, ended):
    ranks = [0.0] * posted.shape[1]
    network = 0.0
    for start, end in zip(posted, ended):
        ranks[int(start.argmax())] += float(start.max() - start.min())
        network += float(end.max() - start.max())
    return ranks, network

# %% wrong_times_in_float32 (right_arrays): wrong, lost_digits, levels 0 0
 def lost_to(posted, ended):
+    posted, ended = posted.astype(np.float32), ended.astype(np.float32)
