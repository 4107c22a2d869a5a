# Right and wrong answers to `young_interval`. In files of their own: autograder bank --write DIR
import math

# %% right_formula: passed
def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * mtbf / machines)

# %% right_logarithms: passed
def young_interval(save, mtbf, machines):
    return math.exp(0.5 * (math.log(2) + math.log(save) + math.log(mtbf) - math.log(machines)))

# %% right_power: passed
# differs: The root is written as a power; machines divide the time between failures.
def young_interval(save, mtbf, machines):
    return (2 * save * (mtbf / machines)) ** 0.5

# %% wrong_cut: wrong, whole_seconds, levels 0 0
def young_interval(save, mtbf, machines):
    return float(int(math.sqrt(2 * save * mtbf / machines)))

# %% wrong_divides: wrong, divides_the_interval, levels 1 0
def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * mtbf) / machines

# %% wrong_float32: wrong, lost_digits, levels 0 0
import torch


def young_interval(save, mtbf, machines):
    return torch.tensor(2 * save * mtbf / machines).sqrt().item()

# %% wrong_less_the_save: wrong, less_the_save, levels 0 0
def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * mtbf / machines) - save

# %% wrong_never_above_the_mtbf: wrong, unrecognised, levels 1 0
def young_interval(save, mtbf, machines):
    return min(mtbf / machines, math.sqrt(2 * save * mtbf / machines))

# %% wrong_never_below_a_save: wrong, no_less_than_a_save, levels 1 0
def young_interval(save, mtbf, machines):
    return max(save, math.sqrt(2 * save * mtbf / machines))

# %% wrong_one_machine: wrong, of_one_machine, levels 1 0
def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * mtbf)

# %% wrong_root: wrong, no_root, levels 0 0
def young_interval(save, mtbf, machines):
    return 2 * save * mtbf / machines

# %% wrong_rounded: wrong, unrecognised, levels 0 0
def young_interval(save, mtbf, machines):
    return round(math.sqrt(2 * save * mtbf / machines), 6)

# %% wrong_times: wrong, more_machines_fail_less, levels 1 0
def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * mtbf * machines)

# %% wrong_two: wrong, forgets_the_two, levels 0 0
def young_interval(save, mtbf, machines):
    return math.sqrt(save * mtbf / machines)

# %% wrong_whole_mtbf: wrong, whole_mtbf, levels 0 0
def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * (mtbf // machines))

# %% wrong_whole_seconds: wrong, unrecognised, levels 0 0
def young_interval(save, mtbf, machines):
    return math.sqrt(2 * math.ceil(save) * math.ceil(mtbf) / machines)
