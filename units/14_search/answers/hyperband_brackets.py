# Right and wrong answers to `hyperband_brackets`. In files of their own: autograder bank --write DIR
import math

# %% right_digits: passed
# differs: The epochs of the rungs are worked out once, downwards, and each bracket is an end of that list.
def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError
    epochs = [R]
    while epochs[0] >= eta:
        epochs.insert(0, epochs[0] // eta)
    table = []
    for rungs in range(len(epochs), 0, -1):
        n = len(epochs) // rungs * eta ** (rungs - 1)
        bracket = []
        for r in epochs[-rungs:]:
            bracket.append([n, r])
            n //= eta
        table.append(bracket)
    return table

# %% right_loop: passed
def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError("R at least 1, eta at least 2")
    s_max = 0
    while eta ** (s_max + 1) <= R:
        s_max += 1
    table = []
    for s in range(s_max, -1, -1):
        n = (s_max + 1) // (s + 1) * eta**s
        table.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
    return table

# %% wrong_anything (right_loop): wrong, takes_anything, levels 1 1 1 0
-        raise ValueError("R at least 1, eta at least 2")
+        return []

# %% wrong_cut_off (right_loop): wrong, rounded_on_the_way, levels 1 0 0 1
-        raise ValueError("R at least 1, eta at least 2")
+        raise ValueError("no brackets")
@@
-    for s in range(s_max, -1, -1):
-        n = (s_max + 1) // (s + 1) * eta**s
-        table.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
+    for s in reversed(range(s_max + 1)):
+        n, r = (s_max + 1) // (s + 1) * eta**s, R * eta ** (-s)
+        table.append([(n // eta**i, int(r * eta**i)) for i in range(s + 1)])

# %% wrong_default_list (right_loop): wrong, keeps_something, levels 0 0 0 1
-def hyperband_brackets(R, eta):
+def hyperband_brackets(R, eta, table=[]):
@@
-    table = []

# %% wrong_epochs (right_loop): wrong, powers_for_epochs, levels 1 1 0 1
-        table.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
+        table.append([(n // eta**i, eta ** (s_max - s + i)) for i in range(s + 1)])

# %% wrong_eta_zero: raised, not_a_value_error, levels 1 1 1 0
def hyperband_brackets(R, eta):
    if R < 1 or eta == 1:
        raise ValueError
    s_max = 0
    while eta ** (s_max + 1) <= R:
        s_max += 1
        if s_max > 100:
            break
    brackets = []
    for s in range(s_max, -1, -1):
        n = (s_max + 1) // (s + 1) * eta**s
        brackets.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
    return brackets

# %% wrong_first_rung_times (right_loop): wrong, multiples_of_the_first_rung, levels 1 1 0 1
-        n = (s_max + 1) // (s + 1) * eta**s
-        table.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
+        n, r = (s_max + 1) // (s + 1) * eta**s, R // eta**s
+        table.append([(n // eta**i, r * eta**i) for i in range(s + 1)])

# %% wrong_float_division (right_loop): wrong, rounded_on_the_way, levels 1 0 1 1
-        raise ValueError("R at least 1, eta at least 2")
+        raise ValueError
@@
-    table = []
+    brackets = []
@@
-        table.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
-    return table
+        brackets.append([(int(n / eta**i), int(R / eta ** (s - i))) for i in range(s + 1)])
+    return brackets

# %% wrong_floats (right_loop): wrong, other_type, levels 0 0 0 1
-        table.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
+        table.append([(float(n // eta**i), R // eta ** (s - i)) for i in range(s + 1)])

# %% wrong_floor_of_the_product: wrong, floor_of_the_product, levels 0 0 0 1
def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError
    s_max = 0
    while eta ** (s_max + 1) <= R:
        s_max += 1
    brackets = []
    for s in range(s_max, -1, -1):
        n = (s_max + 1) * eta**s // (s + 1)
        brackets.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
    return brackets

# %% wrong_fractions (right_loop): wrong, fractions_of_epochs, levels 0 0 0 1
-        table.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
+        table.append([(n // eta**i, R * eta ** (i - s)) for i in range(s + 1)])

# %% wrong_line_2 (right_loop): wrong, the_formula_of_line_2, levels 0 0 0 1
-        n = (s_max + 1) // (s + 1) * eta**s
+        n = -(-(s_max + 1) * eta**s // (s + 1))

# %% wrong_log (right_loop): wrong, float_logarithm, levels 1 0 1 1
-        raise ValueError("R at least 1, eta at least 2")
-    s_max = 0
-    while eta ** (s_max + 1) <= R:
-        s_max += 1
+        raise ValueError
+    s_max = int(math.log(R) / math.log(eta))

# %% wrong_log_with_slack: wrong, logarithm_with_slack, levels 1 1 0 1
def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError
    s_max = int(math.log(R, eta) + 1e-9)
    return [
        [((s_max + 1) // (s + 1) * eta ** (s - i), R // eta ** (s - i)) for i in range(s + 1)]
        for s in range(s_max, -1, -1)
    ]

# %% wrong_negative_r: wrong, takes_anything, levels 1 1 1 0
def hyperband_brackets(R, eta):
    if not R or eta < 2:
        raise ValueError
    s_max = 0
    while eta ** (s_max + 1) <= R:
        s_max += 1
    brackets = []
    for s in range(s_max, -1, -1):
        n = (s_max + 1) // (s + 1) * eta**s
        brackets.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
    return brackets

# %% wrong_one_epoch_first (right_loop): wrong, takes_anything, levels 1 1 1 0
 def hyperband_brackets(R, eta):
+    if R == 1:
+        return [[(1, 1)]]

# %% wrong_order (right_loop): wrong, last_bracket_first, levels 0 0 0 1
-    for s in range(s_max, -1, -1):
+    for s in range(s_max + 1):

# %% wrong_power (right_loop): wrong, eta_to_the_s, levels 0 0 0 1
-        n = (s_max + 1) // (s + 1) * eta**s
+        n = eta**s

# %% wrong_refuses_halving (right_digits): wrong, raises_without_reason, levels 1 0 0 1
-    if R < 1 or eta < 2:
+    if R < 1 or eta <= 2:

# %% wrong_round_epochs: wrong, nearest_epoch, levels 1 0 0 1
def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError
    top = 0
    while eta ** (top + 1) <= R:
        top += 1
    table = []
    for s in range(top, -1, -1):
        n = (top + 1) // (s + 1) * eta**s
        table.append([(n // eta**i, round(R / eta ** (s - i))) for i in range(s + 1)])
    return table

# %% wrong_strictly_below: wrong, strictly_below, levels 0 0 1 1
def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError
    s_max = 0
    while eta ** (s_max + 1) < R:
        s_max += 1
    brackets = []
    for s in range(s_max, -1, -1):
        n = (s_max + 1) // (s + 1) * eta**s
        brackets.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
    return brackets

# %% wrong_to_one (right_loop): wrong, no_random_search, levels 0 0 0 1
-    for s in range(s_max, -1, -1):
+    for s in range(s_max, 0, -1):
