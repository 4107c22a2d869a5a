# Right and wrong answers to `bubble`. In files of their own: autograder bank --write DIR

# %% right_by_running: passed
# differs: The same as a fraction of integers, which is divided at the very end.
def bubble(p, m, v=1):
    from fractions import Fraction

    slots = v * m + p - 1
    return float(Fraction(p - 1, slots))

# %% right_formula: passed
def bubble(p, m, v=1):
    return (p - 1) / (v * m + p - 1)

# %% right_from_times: passed
def bubble(p, m, v=1):
    forward, backward = 1 / v, 2 / v
    work = m * v * (forward + backward)
    idle = (p - 1) * (forward + backward)
    return 1 - work / (work + idle)

# %% wrong_a_full_group_at_least (right_formula): wrong, at_least_p, levels 1 0
 def bubble(p, m, v=1):
+    if v > 1:
+        m = max(m, p)  # with chunks a group has p micro-batches

# %% wrong_at_least_p: wrong, at_least_p, levels 0 0
def bubble(p: int, m: int, v: int = 1) -> float:
    m = max(m, p)
    return (p - 1) / (v * m + p - 1)

# %% wrong_busy: wrong, the_busy_share, levels 0 0
def bubble(p, m, v=1):
    return v * m / (v * m + p - 1)

# %% wrong_divided_at_the_end: wrong, divides_the_share, levels 1 0
def bubble(p, m, v=1):
    return (p - 1) / (m + p - 1) / v

# %% wrong_more_stages: wrong, longer_with_chunks, levels 1 0
def bubble(p, m, v=1):
    return (v * p - 1) / (m + v * p - 1)

# %% wrong_no_chunks: wrong, forgets_the_chunks, levels 1 0
def bubble(p, m, v=1):
    return (p - 1) / (m + p - 1)

# %% wrong_of_work: wrong, share_of_the_work, levels 0 0
def bubble(p, m, v=1):
    return (p - 1) / (v * m)

# %% wrong_one_at_a_time: wrong, one_at_a_time, levels 0 0
def bubble(p, m, v=1):
    return (p - 1) / p

# %% wrong_p_slots: wrong, p_slots_idle, levels 0 0
def bubble(p, m, v=1):
    return p / (v * m + p)

# %% wrong_percent: wrong, percent, levels 0 0
def bubble(p, m, v=1):
    return 100 * (p - 1) / (v * m + p - 1)

# %% wrong_recursion: raised, RecursionError, levels 0 0
def bubble(p: int, m: int, v: int = 1) -> float:
    def passes(left):
        return 0 if left == 0 else v + passes(left - 1)

    return (p - 1) / (passes(m) + p - 1)

# %% wrong_refuses_incomplete_groups: raised, ValueError, levels 1 0
def bubble(p: int, m: int, v: int = 1) -> float:
    if v > 1 and m % p:
        raise ValueError("with chunks, p has to divide m")
    return (p - 1) / (v * m + p - 1)

# %% wrong_rounds: wrong, rounded, levels 0 0
def bubble(p, m, v=1):
    return round((p - 1) / (v * m + p - 1), 2)

# %% wrong_two_chunks_at_most: wrong, two_chunks_at_most, levels 1 0
def bubble(p: int, m: int, v: int = 1) -> float:
    idle = p - 1
    return idle / (min(v, 2) * m + idle)

# %% wrong_without_default: raised, TypeError, levels 0 1
def bubble(p, m, v):
    return (p - 1) / (v * m + p - 1)
