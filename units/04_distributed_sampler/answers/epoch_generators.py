# Right and wrong answers to `epoch_generators`. In files of their own: autograder bank --write DIR
import hashlib
import torch

# %% right_decimal_places: passed
def epoch_generators(seed, epoch, rank, world_size):
    g1 = torch.Generator()
    g1.manual_seed(seed + epoch)
    g2 = torch.Generator()
    g2.manual_seed(seed * 1_000_000 + rank * 1000 + epoch)
    return [g1, g2]

# %% right_drawn_from_the_order: passed
# differs: The seeds of all ranks are drawn from one generator that everybody has, and each takes its own.
def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed + epoch)
    seeds = torch.randint(2**62, (world_size,), generator=torch.Generator().manual_seed(seed + epoch + 10_000_000))
    return order, torch.Generator().manual_seed(int(seeds[rank]))

# %% right_fork_rng: passed
def epoch_generators(seed, epoch, rank, world_size):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed * 1000 + epoch)
        order = torch.Generator().manual_seed(int(torch.randint(2**62, ())))
        torch.manual_seed((seed * 1000 + epoch) * 100_000 + rank)
        noise = torch.Generator().manual_seed(int(torch.randint(2**62, ())))
    return order, noise

# %% right_glued_with_separator: passed
def epoch_generators(seed, epoch, rank, world_size):
    def made(text):
        return torch.Generator().manual_seed(int(hashlib.md5(text.encode()).hexdigest()[:15], 16))

    return made(f"order/{seed}/{epoch}"), made(f"noise/{seed}/{epoch}/{rank}")

# %% right_hash: passed
def generator(*what):
    digest = hashlib.sha256(repr(what).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:6], "little"))


def epoch_generators(seed, epoch, rank, world_size):
    return generator("order", seed, epoch), generator("noise", seed, epoch, rank)

# %% right_numbered: passed
def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed + epoch)
    noise = torch.Generator().manual_seed(seed + 1_000_000 + epoch * world_size + rank)
    return order, noise

# %% right_seed_sequence: passed
import numpy as np


def epoch_generators(seed, epoch, rank, world_size):
    order, noise = torch.Generator(), torch.Generator()
    order.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0]))
    noise.manual_seed(int(np.random.SeedSequence([seed, epoch, rank + 1]).generate_state(1)[0]))
    return order, noise

# %% right_tuple_hash: passed
def epoch_generators(seed, epoch, rank, world_size):
    return (
        torch.Generator().manual_seed(hash((seed, epoch)) % 2**63),
        torch.Generator().manual_seed(hash((seed, epoch, rank, 1)) % 2**63),
    )

# %% wrong_cached: wrong, shared_generator, levels 0 0
import functools


@functools.cache
def order_of(seed, epoch):
    return torch.Generator().manual_seed(seed + epoch)


def epoch_generators(seed, epoch, rank, world_size):
    return order_of(seed, epoch), torch.Generator().manual_seed(seed + 10**6 + epoch * world_size + rank)

# %% wrong_draws_from_the_global: wrong, changes_the_global, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    torch.manual_seed(seed + epoch * 1000)
    order = torch.Generator().manual_seed(int(torch.randint(2**60, ())))
    torch.manual_seed(seed * 1_000_003 + (epoch * world_size + rank))
    noise = torch.Generator().manual_seed(int(torch.randint(2**60, ())))
    return order, noise

# %% wrong_epoch_times_250 (right_numbered): wrong, streams_meet, levels 1 0
-    noise = torch.Generator().manual_seed(seed + 1_000_000 + epoch * world_size + rank)
+    noise = torch.Generator().manual_seed(1_000_000 + seed * 100_003 + epoch * 250 + rank)

# %% wrong_epoch_times_50 (right_numbered): wrong, streams_meet, levels 1 0
-    noise = torch.Generator().manual_seed(seed + 1_000_000 + epoch * world_size + rank)
+    noise = torch.Generator().manual_seed(1_000_000 + seed * 100_003 + epoch * 50 + rank)

# %% wrong_epoch_times_a_thousand: wrong, streams_meet, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    order, noise = torch.Generator(), torch.Generator()
    order.manual_seed(seed + epoch)
    noise.manual_seed(1_000_000 * (seed + 1) + 1000 * epoch + rank)
    return order, noise

# %% wrong_epoch_times_ten: wrong, streams_meet, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(10**6 * (seed + 1) + 10 * epoch + rank)

# %% wrong_global_generator: wrong, shared_generator, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    order = torch.manual_seed(seed + epoch)
    noise = torch.manual_seed(seed + 1_000_000 + epoch * world_size + rank)
    return order, noise

# %% wrong_glued: wrong, streams_meet, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(int(f"{seed}{epoch}{rank}"))

# %% wrong_hash_of_text: wrong, salted_hash, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(abs(hash(f"order {seed} {epoch}")))
    return order, torch.Generator().manual_seed(abs(hash(f"noise {seed} {epoch} {rank}")))

# %% wrong_initial_seed (right_numbered): wrong, noise_ignores_seed, levels 1 0
-    noise = torch.Generator().manual_seed(seed + 1_000_000 + epoch * world_size + rank)
+    noise = torch.Generator()
+    noise.manual_seed(noise.initial_seed() + epoch * world_size + rank)

# %% wrong_last_digits_of_seed: wrong, order_ignores_seed, levels 0 1
def epoch_generators(seed, epoch, rank, world_size):
    order, noise = torch.Generator(), torch.Generator()
    order.manual_seed(seed % 1000 * 1000 + epoch)
    noise.manual_seed(10**9 + (seed * 1000 + epoch) * 2000 + rank)
    return order, noise

# %% wrong_never_seeded: wrong, same_order_every_epoch, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator(), torch.Generator()

# %% wrong_no_epoch_in_noise: wrong, same_noise_every_epoch, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(seed + rank)

# %% wrong_no_epoch_in_order (right_numbered): wrong, same_order_every_epoch, levels 0 1
-    order = torch.Generator().manual_seed(seed + epoch)
+    order = torch.Generator().manual_seed(seed)

# %% wrong_not_written: missing, not_written, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    raise NotImplementedError("write this function")

# %% wrong_numbers: wrong, not_generators, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    return seed + epoch, seed + 1_000_000 + epoch * world_size + rank

# %% wrong_one_for_both: wrong, shared_generator, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    g = torch.Generator().manual_seed(seed + epoch)
    return g, g

# %% wrong_one_generator: wrong, not_generators, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch)

# %% wrong_order_seed_product: wrong, order_ignores_seed, levels 0 1
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed((seed + 1) * epoch), torch.Generator().manual_seed(seed + 10**6 + epoch * world_size + rank)

# %% wrong_order_times_2_to_20: wrong, only_32_bits, levels 0 1
def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed * 2**20 + epoch)
    noise = torch.Generator().manual_seed(1_000_000 * (seed + 1) + epoch * world_size + rank)
    return order, noise

# %% wrong_rank_in_both: wrong, orders_differ, levels 0 1
def epoch_generators(seed, epoch, rank, world_size):
    number = (seed + epoch) * world_size + rank
    return torch.Generator().manual_seed(number), torch.Generator().manual_seed(number + 1_000_000)

# %% wrong_rank_plus_epoch: wrong, streams_meet, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(seed + epoch + rank)

# %% wrong_rank_times_epoch: wrong, streams_meet, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(seed + 1000 + (epoch + 1) * (rank + 1))

# %% wrong_rank_times_ten: wrong, streams_meet, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(seed + epoch + 10 * rank)

# %% wrong_same_seed_for_all: wrong, same_noise, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(seed + 1000 + epoch)

# %% wrong_seed_left_out: wrong, order_ignores_seed, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(epoch), torch.Generator().manual_seed(epoch * world_size + rank)

# %% wrong_seed_times: wrong, noise_ignores_seed, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed * 100 + epoch)
    noise = torch.Generator().manual_seed((seed + 1) * rank * 100_000 + epoch + rank)
    return order, noise

# %% wrong_seed_times_epoch: wrong, same_order_every_epoch, levels 0 1
def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed * epoch)
    noise = torch.Generator().manual_seed(seed * 1_000_000 + epoch * world_size + rank)
    return order, noise

# %% wrong_seed_times_rank: wrong, same_noise, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(seed * rank + epoch)

# %% wrong_seeds_the_global: wrong, changes_the_global, levels 0 0
def epoch_generators(seed, epoch, rank, world_size):
    torch.manual_seed(seed)
    order = torch.Generator().manual_seed(seed + epoch)
    noise = torch.Generator().manual_seed(seed * 7 + 100_000 + epoch * world_size + rank)
    return order, noise

# %% wrong_shifted_by_20 (right_numbered): wrong, only_32_bits, levels 1 0
-    noise = torch.Generator().manual_seed(seed + 1_000_000 + epoch * world_size + rank)
+    noise = torch.Generator().manual_seed(seed << 20 | epoch << 10 | rank)

# %% wrong_shifted_by_32 (right_numbered): wrong, only_32_bits, levels 1 0
-    noise = torch.Generator().manual_seed(seed + 1_000_000 + epoch * world_size + rank)
+    noise = torch.Generator().manual_seed((seed << 32) + epoch * world_size + rank)

# %% wrong_skips_numbers: wrong, streams_overlap, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed * 100 + epoch)
    noise = torch.Generator().manual_seed(10_000_000 + seed * 100 + epoch)
    torch.rand(rank, generator=noise)  # every rank starts at another place
    return order, noise

# %% wrong_stream_by_call (right_seed_sequence): wrong, leans_on_another_rank, levels 1 0
-import numpy as np
+streams = {}
@@
-    order.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0]))
-    noise.manual_seed(int(np.random.SeedSequence([seed, epoch, rank + 1]).generate_state(1)[0]))
+    order.manual_seed(1_000_003 * seed + epoch)
+    numbers = streams.setdefault((seed, epoch, world_size), {})
+    noise.manual_seed(7 + 1_000_003 * (1_000_003 * seed + epoch) + numbers.setdefault(rank, len(numbers)))

# %% wrong_unseeded_noise: wrong, unseeded, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    noise = torch.Generator()
    noise.seed()
    return torch.Generator().manual_seed(seed + epoch), noise

# %% wrong_xor: wrong, streams_meet, levels 1 0
def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(seed + 1000 + (epoch ^ (rank * 64)))
