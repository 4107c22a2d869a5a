# Right and wrong answers to `days_and_energy`. In files of their own: autograder bank --write DIR
import math

# %% right_attempts: passed
# differs: It asks how long an attempt takes that fails, and how many of them an interval needs.
def days_and_energy(flops, cluster, mtbf):
    gpus, taken = cluster["gpus"], cluster["every"] + cluster["save"]
    one = taken
    if mtbf != math.inf:
        rate = gpus / mtbf
        succeeds = math.exp(-rate * taken)
        fails = -math.expm1(-rate * taken)
        failed = fails / succeeds
        until = 1 / rate - taken * succeeds / fails
        one = taken + failed * (until + cluster["restart"])
    steps = flops / cluster["peak"] / cluster["utilisation"] / gpus
    days = steps * one / cluster["every"] / 86400
    return days, days * 24 * gpus * cluster["watts"] * cluster["pue"] / 1000

# %% right_formula: passed
def days_and_energy(flops, cluster, mtbf):
    gpus, every, save = (cluster[name] for name in ("gpus", "every", "save"))
    work = flops / (gpus * cluster["peak"] * cluster["utilisation"])
    taken = every + save
    if mtbf < math.inf:
        between = mtbf / gpus
        taken = math.expm1(taken / between) * (between + cluster["restart"])
    days = work / every * taken / 86400
    return days, gpus * cluster["watts"] * cluster["pue"] * 24 * days / 1000

# %% right_pieces: passed
# differs: It counts intervals, and the failures in each, instead of one factor for all of the time.
def days_and_energy(flops, cluster, mtbf):
    rate = cluster["peak"] * cluster["utilisation"] * cluster["gpus"]
    intervals = flops / rate / cluster["every"]
    piece = cluster["every"] + cluster["save"]
    if math.isinf(mtbf):
        seconds = intervals * piece
    else:
        all_together = mtbf / cluster["gpus"]
        failures = intervals * math.expm1(piece / all_together)
        seconds = failures * all_together + failures * cluster["restart"]
    kilowatts = cluster["gpus"] * cluster["watts"] / 1e3 * cluster["pue"]
    return [seconds / 86400, kilowatts * seconds / 3600]

# %% wrong_done_before_a_save (right_formula): wrong, forgets_the_saves, levels 0 1
     work = flops / (gpus * cluster["peak"] * cluster["utilisation"])
+    if work < every:
+        save = 0.0  # done before the first save

# %% wrong_energy_of_one (right_formula): wrong, energy_of_one_gpu, levels 0 0
-    return days, gpus * cluster["watts"] * cluster["pue"] * 24 * days / 1000
+    return days, cluster["watts"] * cluster["pue"] * 24 * days / 1000

# %% wrong_energy_without_restarts (right_pieces): wrong, energy_without_restarts, levels 1 0
-    return [seconds / 86400, kilowatts * seconds / 3600]
+    idle = 0 if math.isinf(mtbf) else failures * cluster["restart"]
+    return [seconds / 86400, kilowatts * (seconds - idle) / 3600]

# %% wrong_exp_minus_one (right_pieces): wrong, digits_cancel, levels 1 0
-        failures = intervals * math.expm1(piece / all_together)
+        failures = intervals * (math.exp(piece / all_together) - 1)

# %% wrong_few_failures (right_pieces): wrong, failures_to_first_order, levels 1 0
-        seconds = failures * all_together + failures * cluster["restart"]
+        seconds = failures * all_together + intervals * piece / all_together * cluster["restart"]

# %% wrong_float32 (right_formula): wrong, lost_digits, levels 0 0
+import struct
+
+
+def narrow(number):
+    return struct.unpack("f", struct.pack("f", number))[0]
+
+
 def days_and_energy(flops, cluster, mtbf):
@@
-    return days, gpus * cluster["watts"] * cluster["pue"] * 24 * days / 1000
+    return tuple(narrow(number) for number in (days, gpus * cluster["watts"] * cluster["pue"] * 24 * days / 1000))

# %% wrong_half_an_interval (right_formula): wrong, to_first_order, levels 1 0
-        taken = math.expm1(taken / between) * (between + cluster["restart"])
+        taken += taken / between * (every / 2 + cluster["restart"])

# %% wrong_hours (right_formula): wrong, hours_for_days, levels 0 0
-    days = work / every * taken / 86400
-    return days, gpus * cluster["watts"] * cluster["pue"] * 24 * days / 1000
+    hours = work / every * taken / 3600
+    return hours, gpus * cluster["watts"] * cluster["pue"] * hours / 1000

# %% wrong_infinite (right_formula): wrong, infinity_times_zero, levels 0 1
-    if mtbf < math.inf:
-        between = mtbf / gpus
-        taken = math.expm1(taken / between) * (between + cluster["restart"])
+    between = mtbf / gpus
+    taken = math.expm1(taken / between) * (between + cluster["restart"])

# %% wrong_kilowatt_days (right_formula): wrong, kilowatt_days, levels 0 0
-    return days, gpus * cluster["watts"] * cluster["pue"] * 24 * days / 1000
+    return days, gpus * cluster["watts"] * cluster["pue"] * days / 1000

# %% wrong_no_pue (right_formula): wrong, forgets_the_building, levels 0 0
-    return days, gpus * cluster["watts"] * cluster["pue"] * 24 * days / 1000
+    return days, gpus * cluster["watts"] * 24 * days / 1000

# %% wrong_no_restarts (right_formula): wrong, forgets_the_restarts, levels 1 0
-        taken = math.expm1(taken / between) * (between + cluster["restart"])
+        taken = math.expm1(taken / between) * between

# %% wrong_no_saves (right_formula): wrong, forgets_the_saves, levels 0 0
-    taken = every + save
+    taken = every

# %% wrong_one_gpu_computes (right_formula): wrong, one_gpu_computes, levels 0 0
-    work = flops / (gpus * cluster["peak"] * cluster["utilisation"])
+    work = flops / (cluster["peak"] * cluster["utilisation"])

# %% wrong_one_gpu_fails (right_formula): wrong, of_one_gpu, levels 1 0
-        between = mtbf / gpus
+        between = mtbf

# %% wrong_one_minus_exp (right_attempts): wrong, digits_cancel, levels 1 0
-        fails = -math.expm1(-rate * taken)
+        fails = 1 - succeeds

# %% wrong_peak (right_formula): wrong, at_the_peak, levels 0 0
-    work = flops / (gpus * cluster["peak"] * cluster["utilisation"])
+    work = flops / (gpus * cluster["peak"])

# %% wrong_rare_means_never (right_formula): wrong, forgets_the_restarts, levels 1 0
-    taken = every + save
-    if mtbf < math.inf:
-        between = mtbf / gpus
-        taken = math.expm1(taken / between) * (between + cluster["restart"])
+    x = (every + save) * gpus / mtbf  # 0 if nothing ever fails
+    if x < 1e-8:  # as good as never; exp(x) - 1 would lose digits
+        taken = every + save
+    else:
+        taken = (math.exp(x) - 1) * (mtbf / gpus + cluster["restart"])

# %% wrong_restarts_may_fail (right_pieces): wrong, restarts_may_fail, levels 1 0
-        seconds = failures * all_together + failures * cluster["restart"]
+        again = all_together * math.expm1(cluster["restart"] / all_together)
+        seconds = failures * all_together + failures * again

# %% wrong_restarts_only (right_formula): wrong, forgets_the_lost_work, levels 1 0
-        taken = math.expm1(taken / between) * (between + cluster["restart"])
+        taken += math.expm1(taken / between) * cluster["restart"]

# %% wrong_saves_never_fail (right_formula): wrong, unrecognised, levels 1 0
-        taken = math.expm1(taken / between) * (between + cluster["restart"])
+        taken = math.expm1(every / between) * (between + cluster["restart"]) + save

# %% wrong_useful_energy (right_formula): wrong, energy_of_useful_time, levels 0 0
-    return days, gpus * cluster["watts"] * cluster["pue"] * 24 * days / 1000
+    return days, gpus * cluster["watts"] * cluster["pue"] * work / 3.6e6

# %% wrong_watt_hours (right_formula): wrong, watt_hours, levels 0 0
-    return days, gpus * cluster["watts"] * cluster["pue"] * 24 * days / 1000
+    return days, gpus * cluster["watts"] * cluster["pue"] * 24 * days

# %% wrong_whole_intervals (right_pieces): wrong, whole_intervals, levels 0 0
-    intervals = flops / rate / cluster["every"]
+    intervals = math.ceil(flops / rate / cluster["every"])

# %% wrong_whole_saves (right_pieces): wrong, whole_saves, levels 0 1
-        seconds = intervals * piece
+        seconds = intervals * cluster["every"] + math.ceil(intervals) * cluster["save"]
