# Right and wrong answers to `random_configs`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_by_number: passed
# differs: Configuration i has a generator of its own, so that a rank draws its own and skips all others.
def drawn(space, rng):
    found = {}
    for name, (kind, *ends) in space.items():
        if kind == "log":
            found[name] = float(np.exp(rng.uniform(*np.log(ends))))
        elif kind == "uniform":
            found[name] = float(rng.uniform(*ends))
        elif kind == "int":
            found[name] = int(rng.integers(ends[0], ends[1] + 1))
        else:
            found[name] = ends[0][rng.integers(len(ends[0]))]
    return found


def random_configs(space, n, seed, rank, world_size):
    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]

# %% right_hash_of_pair: passed
def drawn(space, rng):
    found = {}
    for name, (kind, *ends) in space.items():
        if kind == "log":
            found[name] = float(np.exp(rng.uniform(*np.log(ends))))
        elif kind == "uniform":
            found[name] = float(rng.uniform(*ends))
        elif kind == "int":
            found[name] = int(rng.integers(ends[0], ends[1] + 1))
        else:
            found[name] = ends[0][rng.integers(len(ends[0]))]
    return found


def random_configs(space, n, seed, rank, world_size):
    return [drawn(space, np.random.default_rng(abs(hash((seed, i))))) for i in range(rank, n, world_size)]

# %% right_random: passed
import random


def random_configs(space, n, seed, rank, world_size):
    mine = []
    for i in range(n):
        if i % world_size != rank:
            continue
        rng = random.Random(f"{seed}/{i}")
        one = {}
        for name, spec in space.items():
            if spec[0] == "log":
                one[name] = 10 ** rng.uniform(math.log10(spec[1]), math.log10(spec[2]))
                one[name] = min(max(one[name], spec[1]), spec[2])
            elif spec[0] == "uniform":
                one[name] = rng.uniform(spec[1], spec[2])
            elif spec[0] == "int":
                one[name] = rng.randint(spec[1], spec[2])
            else:
                one[name] = rng.choice(spec[1])
        mine.append(one)
    return mine

# %% right_whole_list: passed
def drawn(space, rng):
    found = {}
    for name, (kind, *ends) in space.items():
        if kind == "log":
            found[name] = float(np.exp(rng.uniform(*np.log(ends))))
        elif kind == "uniform":
            found[name] = float(rng.uniform(*ends))
        elif kind == "int":
            found[name] = int(rng.integers(ends[0], ends[1] + 1))
        else:
            found[name] = ends[0][rng.integers(len(ends[0]))]
    return found


def random_configs(space, n, seed, rank, world_size):
    rng = np.random.default_rng(seed)
    everything = [drawn(space, rng) for _ in range(n)]
    first, more = divmod(n, world_size)
    begin = rank * first + min(rank, more)
    return everything[begin : begin + first + (rank < more)]

# %% wrong_32_bits (right_by_number): wrong, other_seeds_overlap, levels 1 1 0
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    return [drawn(space, np.random.default_rng([seed & 0xFF, i])) for i in range(rank, n, world_size)]

# %% wrong_choice_of_rows: wrong, choices_of_one_type, levels 1 0 1
def random_configs(space, n, seed, rank, world_size):
    found = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng([seed, i])
        one = {}
        for name, (kind, *ends) in space.items():
            if kind == "log":
                one[name] = float(np.exp(rng.uniform(*np.log(ends))))
            elif kind == "uniform":
                one[name] = float(rng.uniform(*ends))
            elif kind == "int":
                one[name] = int(rng.integers(ends[0], ends[1] + 1))
            else:
                one[name] = rng.choice(np.array(ends[0], dtype=object))
        found.append(one)
    return found

# %% wrong_digits_joined: wrong, other_seeds_overlap, levels 1 1 0
def random_configs(space, n, seed, rank, world_size):
    mine = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng(int(f"{seed}{i}"))
        config = {}
        for name, (kind, *args) in space.items():
            if kind == "log":
                config[name] = math.exp(rng.uniform(math.log(args[0]), math.log(args[1])))
            elif kind == "uniform":
                config[name] = rng.uniform(args[0], args[1])
            elif kind == "int":
                config[name] = int(rng.integers(args[0], args[1] + 1))
            else:
                config[name] = args[0][int(rng.integers(len(args[0])))]
        mine.append(config)
    return mine

# %% wrong_hash (right_by_number): wrong, hash_of_a_text, levels 0 0 1
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    return [drawn(space, np.random.default_rng(abs(hash(f'{seed}/{i}')))) for i in range(rank, n, world_size)]

# %% wrong_int_as_many_as_high: wrong, never_the_upper_end, levels 1 0 1
def random_configs(space, n, seed, rank, world_size):
    found = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng([seed, i])
        one = {}
        for name, (kind, *ends) in space.items():
            if kind == "log":
                one[name] = float(np.exp(rng.uniform(*np.log(ends))))
            elif kind == "uniform":
                one[name] = float(rng.uniform(*ends))
            elif kind == "int":
                one[name] = int(rng.integers(ends[1])) + ends[0]
            else:
                one[name] = ends[0][rng.integers(len(ends[0]))]
        found.append(one)
    return found

# %% wrong_int_cut_towards_zero: wrong, not_the_whole_range, levels 1 0 1
def random_configs(space, n, seed, rank, world_size):
    found = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng([seed, i])
        one = {}
        for name, (kind, *ends) in space.items():
            if kind == "log":
                one[name] = float(np.exp(rng.uniform(*np.log(ends))))
            elif kind == "uniform":
                one[name] = float(rng.uniform(*ends))
            elif kind == "int":
                one[name] = int(rng.uniform(ends[0], ends[1] + 1))
            else:
                one[name] = ends[0][rng.integers(len(ends[0]))]
        found.append(one)
    return found

# %% wrong_last_choice (right_by_number): wrong, not_evenly, levels 1 0 1
-            found[name] = ends[0][rng.integers(len(ends[0]))]
+            found[name] = ends[0][rng.integers(len(ends[0]) - 1)]

# %% wrong_layers_from_two (right_by_number): wrong, not_the_whole_range, levels 1 0 1
-            found[name] = int(rng.integers(ends[0], ends[1] + 1))
+            found[name] = int(rng.integers(ends[0] + 1, ends[1] + 1))

# %% wrong_linear (right_by_number): wrong, linear_draw_for_a_rate, levels 1 0 1
-            found[name] = float(np.exp(rng.uniform(*np.log(ends))))
+            found[name] = float(rng.uniform(*ends))

# %% wrong_mantissa (right_by_number): wrong, not_evenly, levels 1 0 1
-            found[name] = float(np.exp(rng.uniform(*np.log(ends))))
+            found[name] = float(min(rng.uniform(1, 10) * 10.0 ** rng.integers(-6, 0), ends[1]))

# %% wrong_momentum_to_09 (right_by_number): wrong, not_the_whole_range, levels 1 0 1
-            found[name] = float(rng.uniform(*ends))
+            found[name] = float(rng.uniform(ends[0], 0.9))

# %% wrong_no_remainder (right_by_number): wrong, not_n, levels 0 1 1
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    mine = n // world_size
+    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank * mine, (rank + 1) * mine)]

# %% wrong_no_seed (right_by_number): wrong, other_each_time, levels 0 0 1
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    rng = np.random.default_rng()
+    return [drawn(space, rng) for _ in range(rank, n, world_size)]

# %% wrong_number_alone (right_by_number): wrong, ignores_the_seed, levels 1 1 0
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    return [drawn(space, np.random.default_rng(i)) for i in range(rank, n, world_size)]

# %% wrong_numpy_choice: wrong, choices_of_one_type, levels 1 0 1
def random_configs(space, n, seed, rank, world_size):
    return [draw(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]


def draw(space, rng):
    config = {}
    for name, (kind, *args) in space.items():
        if kind == "log":
            config[name] = math.exp(rng.uniform(math.log(args[0]), math.log(args[1])))
        elif kind == "uniform":
            config[name] = float(rng.uniform(*args))
        elif kind == "int":
            config[name] = int(rng.integers(args[0], args[1] + 1))
        else:
            config[name] = rng.choice(args[0])
    return config

# %% wrong_one_draw: wrong, parameters_move_together, levels 1 0 1
def random_configs(space, n, seed, rank, world_size):
    found = []
    for i in range(rank, n, world_size):
        u = float(np.random.default_rng([seed, i]).uniform())
        one = {}
        for name, (kind, *ends) in space.items():
            if kind == "log":
                one[name] = ends[0] * (ends[1] / ends[0]) ** u
            elif kind == "uniform":
                one[name] = ends[0] + u * (ends[1] - ends[0])
            elif kind == "int":
                one[name] = ends[0] + int(u * (ends[1] - ends[0] + 1))
            else:
                one[name] = ends[0][int(u * len(ends[0]))]
        found.append(one)
    return found

# %% wrong_powers_of_ten (right_by_number): wrong, few_values, levels 1 0 1
-            found[name] = float(np.exp(rng.uniform(*np.log(ends))))
+            found[name] = 10.0 ** int(rng.integers(np.log10(ends[0]), np.log10(ends[1]) + 1))

# %% wrong_rate_up_to_1: wrong, not_the_whole_range, levels 1 0 1
def random_configs(space, n, seed, rank, world_size):
    found = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng([seed, i])
        one = {}
        for name, (kind, *ends) in space.items():
            if kind == "log":
                one[name] = float(ends[0] ** rng.random())
            elif kind == "uniform":
                one[name] = float(rng.uniform(*ends))
            elif kind == "int":
                one[name] = int(rng.integers(ends[0], ends[1] + 1))
            else:
                one[name] = ends[0][rng.integers(len(ends[0]))]
        found.append(one)
    return found

# %% wrong_real_layers (right_by_number): wrong, not_configurations, levels 0 0 0
-            found[name] = int(rng.integers(ends[0], ends[1] + 1))
+            found[name] = float(rng.uniform(*ends))

# %% wrong_remainder_to_the_last (right_by_number): wrong, uneven_shares, levels 0 1 1
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    mine = n // world_size
+    end = n if rank == world_size - 1 else (rank + 1) * mine
+    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank * mine, end)]

# %% wrong_rounds (right_by_number): wrong, ends_too_rare, levels 1 0 1
-            found[name] = int(rng.integers(ends[0], ends[1] + 1))
+            found[name] = round(float(rng.uniform(*ends)))

# %% wrong_same_seed (right_by_number): wrong, same_on_every_rank, levels 0 1 1
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    rng = np.random.default_rng(seed)
+    mine = n // world_size + (rank < n % world_size)
+    return [drawn(space, rng) for _ in range(mine)]

# %% wrong_seed_plus_number (right_by_number): wrong, neighbouring_seeds_overlap, levels 1 1 0
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    return [drawn(space, np.random.default_rng(seed + i)) for i in range(rank, n, world_size)]

# %% wrong_seed_plus_rank (right_by_number): wrong, depends_on_the_ranks, levels 0 1 1
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    rng = np.random.default_rng([seed, rank])
+    mine = n // world_size + (rank < n % world_size)
+    return [drawn(space, rng) for _ in range(mine)]

# %% wrong_seed_plus_thousands: wrong, other_seeds_overlap, levels 1 1 0
def random_configs(space, n, seed, rank, world_size):
    found = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng(seed + 1000 * i)
        one = {}
        for name, (kind, *ends) in space.items():
            if kind == "log":
                one[name] = float(np.exp(rng.uniform(*np.log(ends))))
            elif kind == "uniform":
                one[name] = float(rng.uniform(*ends))
            elif kind == "int":
                one[name] = int(rng.integers(ends[0], ends[1] + 1))
            else:
                one[name] = ends[0][rng.integers(len(ends[0]))]
        found.append(one)
    return found

# %% wrong_seed_thousands (right_by_number): wrong, other_seeds_overlap, levels 1 1 0
-    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
+    return [drawn(space, np.random.default_rng(seed * 1000 + i)) for i in range(rank, n, world_size)]

# %% wrong_seed_times_100: wrong, other_seeds_overlap, levels 1 1 0
def random_configs(space, n, seed, rank, world_size):
    mine = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng((seed * 100 + i))
        config = {}
        for name, (kind, *args) in space.items():
            if kind == "log":
                config[name] = math.exp(rng.uniform(math.log(args[0]), math.log(args[1])))
            elif kind == "uniform":
                config[name] = rng.uniform(args[0], args[1])
            elif kind == "int":
                config[name] = int(rng.integers(args[0], args[1] + 1))
            else:
                config[name] = args[0][int(rng.integers(len(args[0])))]
        mine.append(config)
    return mine

# %% wrong_seed_times_ten_thousand: wrong, other_seeds_overlap, levels 1 1 0
def random_configs(space, n, seed, rank, world_size):
    found = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng(seed * 10_000 + i)
        one = {}
        for name, (kind, *ends) in space.items():
            if kind == "log":
                one[name] = float(np.exp(rng.uniform(*np.log(ends))))
            elif kind == "uniform":
                one[name] = float(rng.uniform(*ends))
            elif kind == "int":
                one[name] = int(rng.integers(ends[0], ends[1] + 1))
            else:
                one[name] = ends[0][rng.integers(len(ends[0]))]
        found.append(one)
    return found

# %% wrong_square (right_by_number): wrong, not_evenly, levels 1 0 1
-            found[name] = float(np.exp(rng.uniform(*np.log(ends))))
+            found[name] = float(ends[0] * (ends[1] / ends[0]) ** (rng.uniform() ** 2))

# %% wrong_uniform_without_minus: wrong, not_the_whole_range, levels 1 0 1
def random_configs(space, n, seed, rank, world_size):
    found = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng([seed, i])
        one = {}
        for name, (kind, *ends) in space.items():
            if kind == "log":
                one[name] = float(np.exp(rng.uniform(*np.log(ends))))
            elif kind == "uniform":
                one[name] = float(ends[0] + rng.random() * ends[1])
            elif kind == "int":
                one[name] = int(rng.integers(ends[0], ends[1] + 1))
            else:
                one[name] = ends[0][rng.integers(len(ends[0]))]
        found.append(one)
    return found

# %% wrong_upper_end (right_by_number): wrong, never_the_upper_end, levels 1 0 1
-            found[name] = int(rng.integers(ends[0], ends[1] + 1))
+            found[name] = int(rng.integers(*ends))
