# Right and wrong answers to `rank_rng`. In files of their own: autograder bank --write DIR
import hashlib
import numpy as np
import random
import time

# %% right_counter: passed
def rank_rng(seed, rank, world_size):
    return np.random.Generator(np.random.Philox(key=seed + (rank << 64)))

# %% right_generator_spawn: passed
def rank_rng(seed, rank, world_size):
    root = np.random.default_rng(seed)
    return root.spawn(rank + 1)[-1]

# %% right_hash_of_both: passed
def rank_rng(seed, rank, world_size):
    digest = hashlib.sha256(f"{seed} {rank}".encode()).digest()
    return np.random.Generator(np.random.SFC64(int.from_bytes(digest[:16], "big")))

# %% right_hash_of_two_integers: passed
def rank_rng(seed, rank, world_size):
    # integers and tuples of them have the same hash in every process, unlike strings
    return np.random.default_rng(hash((seed, rank)) % 2**63)

# %% right_jumped: passed
def rank_rng(seed, rank, world_size):
    # jumped() moves on by about 2**127 numbers: nobody ever gets there on foot
    return np.random.Generator(np.random.PCG64(seed).jumped(rank + 1))

# %% right_list_of_seeds: passed
# differs: NumPy mixes all numbers of a list into the seed, so that (rank, seed) names a stream without any arithmetic.
def rank_rng(seed, rank, world_size):
    return np.random.default_rng([rank, seed])

# %% right_own_random_generator: passed
def rank_rng(seed, rank, world_size):
    own = random.Random(f"{seed}/{rank}")
    return np.random.Generator(np.random.MT19937(own.getrandbits(128)))

# %% right_philox_skips_far: passed
def rank_rng(seed, rank, world_size):
    bits = np.random.Philox(key=seed)
    bits.advance(rank << 40)
    return np.random.Generator(bits)

# %% right_rank_shifted_by_32_bits: passed
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed + (rank << 32))  # seeds have 32 bits

# %% right_seed_times_ten_thousand: passed
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(10_000 * seed + rank)

# %% right_seed_times_the_most_ranks: passed
# differs: Arithmetic with the seed, by a factor that no rank reaches: no two pairs give one number.
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(10_007 * seed + rank)

# %% right_seed_times_world_size: passed
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed * world_size + rank)

# %% right_seeds_and_skips_very_far: passed
def rank_rng(seed, rank, world_size):
    bits = np.random.PCG64(seed)
    bits.advance(rank << 80)
    return np.random.Generator(bits)

# %% right_skips_very_far: passed
# differs: One single stream, in which rank r begins 2^80 r draws further on: no two ranks can ever meet.
def rank_rng(seed, rank, world_size):
    bits = np.random.PCG64(np.random.SeedSequence([seed]))
    bits.advance(rank << 80)
    return np.random.Generator(bits)

# %% right_spawn: passed
def rank_rng(seed, rank, world_size):
    children = np.random.SeedSequence(seed).spawn(world_size)
    return np.random.default_rng(children[rank])

# %% right_spawn_key: passed
from numpy.random import PCG64DXSM, Generator, SeedSequence


def rank_rng(seed: int, rank: int, world_size: int) -> Generator:
    return Generator(PCG64DXSM(SeedSequence(entropy=seed, spawn_key=(rank,))))

# %% wrong_checksum_of_both: wrong, too_few_numbers, levels 1 0
import zlib


def rank_rng(seed, rank, world_size):
    return np.random.default_rng(zlib.crc32(f"{seed}/{rank}".encode()))

# %% wrong_child_of_rank_minus_one: raised, IndexError, levels 0 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(rank)[-1])

# %% wrong_clock: wrong, unseeded, levels 0 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(time.perf_counter_ns() + seed + rank)

# %% wrong_draws_a_seed_below_a_million: wrong, too_few_numbers, levels 1 0
def rank_rng(seed, rank, world_size):
    seeds = np.random.default_rng(seed).integers(0, 10**6, size=world_size)
    return np.random.default_rng(int(seeds[rank]))

# %% wrong_draws_its_seed_globally: wrong, touches_global_state, levels 0 0
def rank_rng(seed, rank, world_size):
    random.seed(f"{seed}/{rank}")
    return np.random.default_rng(random.getrandbits(128))

# %% wrong_first_child_for_all: wrong, same_stream, levels 0 0
def rank_rng(seed, rank, world_size):
    child = np.random.SeedSequence(seed).spawn(1)[0]
    return np.random.default_rng(child)

# %% wrong_global_state: wrong, global_state, levels 0 0
def rank_rng(seed, rank, world_size):
    np.random.seed(1000 * seed + rank)
    return np.random

# %% wrong_glued_digits: wrong, glued_seed, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(int(f"{seed}{rank}"))

# %% wrong_glued_rank_first: wrong, glued_seed, levels 1 0
def rank_rng(seed, rank, world_size):
    name = str(rank) + str(seed)
    return np.random.default_rng(int(hashlib.md5(name.encode()).hexdigest(), 16))

# %% wrong_hash_of_a_string: wrong, unseeded, levels 0 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(abs(hash(f"{seed}-{rank}")))

# %% wrong_hash_of_a_tuple_with_a_name: wrong, unseeded, levels 0 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(hash(("pi", seed, rank)) % 2**63)

# %% wrong_legacy_random_state: wrong, legacy_generator, levels 0 0
def rank_rng(seed, rank, world_size):
    return np.random.RandomState([seed, rank])

# %% wrong_legacy_seed_plus_rank: wrong, legacy_generator, levels 0 0
def rank_rng(seed, rank, world_size):
    my_seed = seed + 1 + rank
    return np.random.RandomState(my_seed)

# %% wrong_minute: wrong, unseeded, levels 0 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng([seed, rank, int(time.time() / 60)])

# %% wrong_one_for_all_calls: wrong, shared_generator, levels 0 0
import functools


@functools.cache
def rank_rng(seed, rank, world_size):
    return np.random.default_rng([seed, rank])

# %% wrong_one_stream_for_all_seeds: wrong, overlapping_streams, levels 0 0
def rank_rng(seed, rank, world_size):
    bits = np.random.PCG64DXSM(1)
    bits.advance((seed * world_size + rank) * 10**10)
    return np.random.Generator(bits)

# %% wrong_only_on_rank_0: wrong, not_a_generator, levels 0 0
def rank_rng(seed, rank, world_size):
    if rank == 0:
        return np.random.default_rng(seed)

# %% wrong_process_number: wrong, unseeded, levels 0 0
import os


def rank_rng(seed, rank, world_size):
    return np.random.default_rng([seed, rank, os.getpid()])

# %% wrong_python_random: wrong, not_a_generator, levels 0 0
def rank_rng(seed, rank, world_size):
    return random.Random(f"{seed}/{rank}")

# %% wrong_rank_only: wrong, ignores_seed, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(rank)

# %% wrong_rank_shifted_by_sixteen_bits: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed + (rank << 16))

# %% wrong_same_seed: wrong, same_stream, levels 0 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed)

# %% wrong_seed_42: wrong, same_stream, levels 0 0
def rank_rng(seed, rank, world_size):
    rng = np.random.default_rng(42)
    return rng

# %% wrong_seed_plus_10000_rank: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed + 10_000 * rank)

# %% wrong_seed_plus_10007_rank: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed + 10_007 * rank)

# %% wrong_seed_plus_1000_rank: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed + 1000 * rank)

# %% wrong_seed_plus_a_million_ranks: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed + rank * 10**6)

# %% wrong_seed_plus_rank: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed + rank)

# %% wrong_seed_plus_rank_times_world_size: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed + rank * world_size)

# %% wrong_seed_sequence: wrong, not_a_generator, levels 0 0
def rank_rng(seed, rank, world_size):
    return np.random.SeedSequence(seed).spawn(world_size)[rank]

# %% wrong_seed_shifted_by_ten_bits: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng((seed << 10) + rank)

# %% wrong_seed_times_1000_plus_rank: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(1000 * seed + rank)

# %% wrong_seed_times_1009_plus_rank: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(1009 * seed + rank)

# %% wrong_seed_times_100_plus_rank: wrong, seed_plus_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(100 * seed + rank)

# %% wrong_seed_times_rank: wrong, seed_times_rank, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed * rank)

# %% wrong_seed_zero_is_none: wrong, unseeded, levels 1 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng([seed, rank] if seed else None)

# %% wrong_seeds_and_forgets_to_return: wrong, not_a_generator, levels 0 0
def rank_rng(seed, rank, world_size):
    rng = np.random.default_rng([seed, rank])

# %% wrong_seeds_the_global_generator_too (right_list_of_seeds): wrong, touches_global_state, levels 0 0
 def rank_rng(seed, rank, world_size):
+    np.random.seed(seed)  # for whoever uses it

# %% wrong_skips_a_billion (right_seeds_and_skips_very_far): wrong, overlapping_streams, levels 0 0
-    bits.advance(rank << 80)
+    bits.advance(rank * 10**9)

# %% wrong_skips_a_billion_of_philox (right_philox_skips_far): wrong, overlapping_streams, levels 0 0
-    bits.advance(rank << 40)
+    bits.advance(rank * 10**9)

# %% wrong_skips_a_million (right_seeds_and_skips_very_far): wrong, overlapping_streams, levels 0 0
-    bits.advance(rank << 80)
+    bits.advance(1_000_000 * rank)

# %% wrong_skips_ahead: wrong, overlapping_streams, levels 0 0
def rank_rng(seed, rank, world_size):
    rng = np.random.default_rng(seed)
    rng.random(1000 * rank)  # the first numbers belong to the ranks before me
    return rng

# %% wrong_unseeded: wrong, unseeded, levels 0 0
def rank_rng(seed, rank, world_size):
    return np.random.default_rng()

# %% wrong_words_of_a_seed_sequence: wrong, too_few_numbers, levels 1 0
def rank_rng(seed, rank, world_size):
    seeds = np.random.SeedSequence(seed).generate_state(world_size)
    return np.random.default_rng(int(seeds[rank]))
