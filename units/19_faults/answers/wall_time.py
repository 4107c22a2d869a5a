# Right and wrong answers to `wall_time`. In files of their own: autograder bank --write DIR

# %% right_queue: passed
def wall_time(work, interval, save, restart, failures):
    now, kept, left = 0, 0, sorted(failures)
    while kept < work:
        piece = min(interval, work - kept)
        end = now + piece + (save if kept + piece < work else 0)
        if not left or left[0] >= end:
            now, kept = end, kept + piece
            continue
        now = left.pop(0) + restart
        while left and left[0] < now:
            now = left.pop(0) + restart
    return now

# %% right_second_by_second: passed
# differs: It lives through every second, computing, saving or resting: slow, and easy to believe.
def wall_time(work, interval, save, restart, failures):
    kept = computed = saving = resting = now = 0
    struck = set(failures)
    while True:
        if resting == 0 and computed == work:
            return now
        if now in struck:
            computed, saving, resting = kept, 0, restart
        now += 1
        if resting:
            resting -= 1
        elif computed - kept == min(interval, work - kept) and computed < work:
            saving += 1
            if saving == save:
                kept, saving = computed, 0
        else:
            computed += 1
            if save == 0 and computed - kept == interval:
                kept = computed

# %% wrong_at_once (right_queue): wrong, restarts_at_once, levels 1 0 0
-        now = left.pop(0) + restart
+        now = left.pop(0)
@@
-            now = left.pop(0) + restart
+            now = left.pop(0)

# %% wrong_beginning (right_queue): wrong, loses_everything, levels 1 0 0
             continue
+        kept = 0

# %% wrong_first_second_ignored: wrong, unrecognised, levels 1 1 0
def wall_time(work, interval, save, restart, failures):
    now, saved, i = 0, 0, 0
    failures = [f for f in failures if f > 0]
    while True:
        nxt = failures[i] if i < len(failures) else None
        goal = min(saved + interval, work)
        end = now + goal - saved + (save if goal < work else 0)
        if nxt is None or end <= nxt:
            now, saved = end, goal
            if saved == work:
                return now
            continue
        now = nxt + restart
        i += 1
        while i < len(failures) and failures[i] < now:
            now = failures[i] + restart
            i += 1

# %% wrong_half_a_save (right_queue): wrong, counts_half_a_save, levels 1 1 0
             continue
+        kept += piece if left[0] >= now + piece else 0

# %% wrong_keeps (right_queue): wrong, keeps_what_was_computed, levels 1 0 0
             continue
+        kept += min(piece, left[0] - now)

# %% wrong_restart_appended (right_queue): wrong, restart_ends_first, levels 1 1 0
-            now = left.pop(0) + restart
+            now += restart
+            left.pop(0)

# %% wrong_restarts_before_it_begins: wrong, same_second_is_late, levels 1 1 0
def wall_time(work, interval, save, restart, failures):
    now, kept, left = 0, 0, list(failures)
    while True:
        piece = min(interval, work - kept)
        end = now + piece + (save if kept + piece < work else 0)
        if left and (left[0] < end or left[0] == now == end):
            now = left.pop(0) + restart
            while left and left[0] < now:
                now = left.pop(0) + restart
            continue
        now, kept = end, kept + piece
        if kept == work:
            return now

# %% wrong_safe_restart (right_queue): wrong, restart_is_safe, levels 1 1 0
-            now = left.pop(0) + restart
+            left.pop(0)

# %% wrong_same_second (right_queue): wrong, same_second_is_late, levels 0 0 0
-        if not left or left[0] >= end:
+        if not left or left[0] > end:
@@
-        while left and left[0] < now:
+        while left and left[0] <= now:

# %% wrong_same_second_of_a_save (right_queue): wrong, same_second_is_late, levels 0 0 0
-        if not left or left[0] >= end:
+        if not left or left[0] > end:

# %% wrong_save_in_no_time (right_queue): wrong, same_second_is_late, levels 1 1 0
-    now, kept, left = 0, 0, sorted(failures)
+    now, kept, left = 0, 0, list(failures)
@@
-        end = now + piece + (save if kept + piece < work else 0)
-        if not left or left[0] >= end:
-            now, kept = end, kept + piece
+        last = kept + piece == work
+        end = now + piece
+        # the failure comes before the work is done, or in the second in which the save would begin
+        if left and (left[0] < end or (left[0] == end and not last)):
+            pass
+        elif last:
+            return end
+        elif not left or left[0] >= end + save:
+            now, kept = end + save, kept + piece

# %% wrong_saves_at_the_end (right_queue): wrong, saves_at_the_end, levels 0 0 0
-        end = now + piece + (save if kept + piece < work else 0)
+        end = now + piece + save

# %% wrong_saves_nothing: wrong, saves_at_the_end, levels 0 1 1
def wall_time(work, interval, save, restart, failures):
    now, saved, i = 0, 0, 0
    failures = list(failures)
    if not work:
        return save
    while True:
        nxt = failures[i] if i < len(failures) else None
        goal = min(saved + interval, work)
        end = now + goal - saved + (save if goal < work else 0)
        if nxt is None or end <= nxt:
            now, saved = end, goal
            if saved == work:
                return now
            continue
        now = nxt + restart
        i += 1
        while i < len(failures) and failures[i] < now:
            now = failures[i] + restart
            i += 1

# %% wrong_skips_a_failure (right_queue): wrong, skips_a_failure, levels 1 1 0
             now = left.pop(0) + restart
+        left = [t for t in left if t != now]
