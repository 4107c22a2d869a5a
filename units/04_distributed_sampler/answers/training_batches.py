# Right and wrong answers to `training_batches`. In files of their own: autograder bank --write DIR
import random
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

# %% right_batch_sampler: passed
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler


def training_batches(dataset, global_batch_size, epochs, seed):
    sampler = DistributedSampler(dataset, seed=seed)
    cut = BatchSampler(sampler, global_batch_size // dist.get_world_size(), drop_last=False)
    loader = DataLoader(dataset, batch_sampler=cut)
    seen = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        seen.append(list(loader))
    return seen

# %% right_by_hand: passed
def training_batches(dataset, global_batch_size, epochs, seed):
    p, r = dist.get_world_size(), dist.get_rank()
    local = global_batch_size // p
    seen = []
    for epoch in range(epochs):
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed + epoch)).tolist()
        while len(order) % p:
            order += order[: p - len(order) % p]
        own = order[r::p]
        seen.append([[dataset[i] for i in own[k : k + local]] for k in range(0, len(own), local)])
    return seen

# %% right_new_sampler_with_seed_plus_epoch: passed
# differs: A new sampler in every epoch, seeded with seed + epoch, which is what `set_epoch` comes to.
def training_batches(dataset, global_batch_size, epochs, seed):
    return [
        [b.tolist() for b in DataLoader(dataset, global_batch_size // dist.get_world_size(), sampler=DistributedSampler(dataset, seed=seed + e))]
        for e in range(epochs)
    ]

# %% right_plain: passed
def training_batches(dataset, global_batch_size, epochs, seed):
    sampler = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
    seen = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        seen.append([batch.tolist() for batch in loader])
    return seen

# %% right_sampler_iterated: passed
from torch.utils.data import BatchSampler, DistributedSampler


def training_batches(dataset, global_batch_size, epochs, seed):
    p = dist.get_world_size()
    sampler = DistributedSampler(dataset, num_replicas=p, rank=dist.get_rank(), seed=seed, shuffle=True, drop_last=False)
    def epoch(e):
        sampler.set_epoch(e)
        for ids in BatchSampler(sampler, global_batch_size // p, False):
            yield [dataset[i] for i in ids]
    return [list(epoch(e)) for e in range(epochs)]

# %% right_spelled_out: passed
def training_batches(dataset, global_batch_size, epochs, seed):
    p, r = dist.get_world_size(), dist.get_rank()
    sampler = torch.utils.data.distributed.DistributedSampler(
        dataset, num_replicas=p, rank=r, shuffle=True, seed=seed, drop_last=False
    )
    result = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        loader = torch.utils.data.DataLoader(dataset, batch_size=int(global_batch_size / p), sampler=sampler)
        batches = []
        for batch in loader:
            batches.append(batch)
        result.append(batches)
    return result

# %% wrong_batch_limited_by_a_rounded_share (right_plain): wrong, other_batch_size, levels 1 1 0
-    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
+    local = max(1, min(global_batch_size // dist.get_world_size(), round(len(dataset) / dist.get_world_size())))
+    loader = DataLoader(dataset, batch_size=local, sampler=sampler)

# %% wrong_batch_limited_by_the_samples (right_plain): wrong, other_batch_size, levels 1 1 0
-    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
+    local = max(1, min(global_batch_size, len(dataset)) // dist.get_world_size())
+    loader = DataLoader(dataset, batch_size=local, sampler=sampler)

# %% wrong_both_shuffle (right_plain): raised, ValueError, levels 0 0 0
-    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
+    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler, shuffle=True)

# %% wrong_divides_by_two (right_plain): wrong, other_batch_size, levels 1 0 0
-    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
+    loader = DataLoader(dataset, batch_size=global_batch_size // 2, sampler=sampler)

# %% wrong_epochs_from_one (right_plain): wrong, epochs_from_one, levels 0 0 0
-    for epoch in range(epochs):
+    for epoch in range(1, epochs + 1):

# %% wrong_everybody_is_rank_0 (right_plain): wrong, ranks_overlap, levels 0 0 0
-    sampler = DistributedSampler(dataset, seed=seed)
+    sampler = DistributedSampler(dataset, num_replicas=dist.get_world_size(), rank=0, seed=seed)

# %% wrong_extends (right_plain): wrong, batches_not_apart, levels 0 0 0
-        seen.append([batch.tolist() for batch in loader])
+        seen.append([])
+        for batch in loader:
+            seen[-1].extend(batch.tolist())

# %% wrong_first_batch_of_each_epoch (right_plain): wrong, samples_missing, levels 0 0 0
-        seen.append([batch.tolist() for batch in loader])
+        seen.append([next(iter(loader)).tolist()])

# %% wrong_forgets_set_epoch: wrong, forgot_set_epoch, levels 1 0 0
def training_batches(dataset, global_batch_size, epochs, seed):
    sampler = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
    return [[batch.tolist() for batch in loader] for epoch in range(epochs)]

# %% wrong_four_ranks: wrong, other_batch_size, levels 0 0 0
def training_batches(dataset, global_batch_size, epochs, seed):
    s = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=max(1, global_batch_size // 4), sampler=s)
    out = []
    for e in range(epochs):
        s.set_epoch(e)
        out.append(list(loader))
    return out

# %% wrong_global_batch_on_every_rank (right_plain): wrong, global_batch_on_every_rank, levels 0 0 0
-    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
+    loader = DataLoader(dataset, batch_size=global_batch_size, sampler=sampler)

# %% wrong_global_generator: wrong, other_order, levels 1 0 0
def training_batches(dataset, global_batch_size, epochs, seed):
    torch.manual_seed(seed)
    rank, p = dist.get_rank(), dist.get_world_size()
    out = []
    for e in range(epochs):
        order = torch.randperm(len(dataset)).tolist()
        order += order[: -len(order) % p]
        mine = order[rank::p]
        k = global_batch_size // p
        out.append([torch.tensor([dataset[i] for i in mine[s : s + k]]) for s in range(0, len(mine), k)])
    return out

# %% wrong_ids (right_batch_sampler): wrong, ids, levels 0 0 0
-from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
+from torch.utils.data import BatchSampler, DistributedSampler
@@
-    loader = DataLoader(dataset, batch_sampler=cut)
@@
-        seen.append(list(loader))
+        seen.append(list(cut))

# %% wrong_if_seed: wrong, other_seed_at_zero, levels 1 0 1
def training_batches(dataset, global_batch_size, epochs, seed):
    p, rank = dist.get_world_size(), dist.get_rank()
    n, local = len(dataset), global_batch_size // p
    result = []
    for epoch in range(epochs):
        g = torch.Generator()
        if seed:
            g.manual_seed(seed + epoch)
        order = torch.randperm(n, generator=g).tolist()
        while len(order) % p:
            order += order[: p - len(order) % p]
        mine = order[rank::p]
        result.append([[dataset[i] for i in mine[k : k + local]] for k in range(0, len(mine), local)])
    return result

# %% wrong_items_of_a_byte (right_plain): wrong, other_items, levels 0 1 1
-        seen.append([batch.tolist() for batch in loader])
+        seen.append([batch.byte() for batch in loader])

# %% wrong_last_epoch_only (right_plain): wrong, last_epoch_only, levels 1 0 0
-    seen = []
@@
     for epoch in range(epochs):
+        seen = []

# %% wrong_loader_drops_last (right_plain): wrong, drops_last_batch, levels 1 1 0
-    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
+    local = global_batch_size // dist.get_world_size()
+    loader = DataLoader(dataset, batch_size=local, sampler=sampler, drop_last=True)

# %% wrong_loader_returned (right_plain): wrong, epochs_not_apart, levels 1 0 0
-    seen = []
+    result = []
@@
-        seen.append([batch.tolist() for batch in loader])
-    return seen
+        result.append(loader)
+    return result

# %% wrong_new_sampler_each_epoch (right_plain): wrong, forgot_set_epoch, levels 1 0 0
-    sampler = DistributedSampler(dataset, seed=seed)
-    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
@@
-        sampler.set_epoch(epoch)
+        sampler = DistributedSampler(dataset, seed=seed)
+        loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)

# %% wrong_no_sampler: wrong, everybody_sees_everything, levels 0 0 0
from torch.utils.data import DataLoader


def training_batches(dataset, global_batch_size, epochs, seed):
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), shuffle=True)
    return [[batch.tolist() for batch in loader] for epoch in range(epochs)]

# %% wrong_no_shuffle (right_plain): wrong, not_shuffled, levels 0 0 0
-    sampler = DistributedSampler(dataset, seed=seed)
+    sampler = DistributedSampler(dataset, shuffle=False, seed=seed)

# %% wrong_not_written: missing, not_written, levels 0 0 0
def training_batches(dataset, global_batch_size, epochs, seed):
    raise NotImplementedError("write this function")

# %% wrong_one_list (right_plain): wrong, not_in_epochs, levels 0 0 0
-        seen.append([batch.tolist() for batch in loader])
+        seen += [batch.tolist() for batch in loader]

# %% wrong_one_list_for_all_epochs (right_plain): wrong, epochs_not_apart, levels 1 0 0
-    seen = []
+    seen, batches = [], []
@@
-        seen.append([batch.tolist() for batch in loader])
+        for batch in loader:
+            batches.append(batch.tolist())
+        seen.append(batches)

# %% wrong_only_rank_0_sets_the_epoch (right_plain): wrong, ranks_overlap, levels 1 0 0
-        sampler.set_epoch(epoch)
+        if dist.get_rank() == 0:
+            sampler.set_epoch(epoch)

# %% wrong_padded_once: wrong, uneven_shares, levels 1 1 0
def training_batches(dataset, global_batch_size: int, epochs: int, seed: int) -> list:
    p, rank = dist.get_world_size(), dist.get_rank()
    local = global_batch_size // p
    result = []
    for epoch in range(epochs):
        g = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(len(dataset), generator=g).tolist()
        order += order[: -len(order) % p]
        mine = order[rank::p]
        result.append(
            [
                [dataset[i] for i in mine[k : k + local]]
                for k in range(0, len(mine), local)
            ]
        )
    return result

# %% wrong_pads_twice_at_most: wrong, uneven_shares, levels 1 1 0
def training_batches(dataset, global_batch_size, epochs, seed):
    p, rank = dist.get_world_size(), dist.get_rank()
    n, local = len(dataset), global_batch_size // p
    total = n + -n % p
    result = []
    for epoch in range(epochs):
        g = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(n, generator=g).tolist()
        order += order[: total - len(order)]
        order += order[: total - len(order)]
        mine = order[rank::p]
        result.append([[dataset[i] for i in mine[k : k + local]] for k in range(0, len(mine), local)])
    return result

# %% wrong_returns_too_early (right_plain): wrong, first_epoch_only, levels 1 0 0
-    seen = []
@@
-        seen.append([batch.tolist() for batch in loader])
-    return seen
+        seen = [batch.tolist() for batch in loader]
+        return [seen]

# %% wrong_reuses_one_list: wrong, epochs_not_apart, levels 1 0 0
def training_batches(dataset, global_batch_size, epochs, seed):
    s = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=s)
    out, batches = [], []
    for e in range(epochs):
        s.set_epoch(e)
        batches.clear()
        batches.extend(loader)
        out.append(batches)
    return out

# %% wrong_sampler_drops_last (right_plain): wrong, drops_samples, levels 1 1 0
-    sampler = DistributedSampler(dataset, seed=seed)
+    sampler = DistributedSampler(dataset, seed=seed, drop_last=True)

# %% wrong_sampler_of_one (right_plain): wrong, everybody_sees_everything, levels 0 0 0
-    sampler = DistributedSampler(dataset, seed=seed)
+    sampler = DistributedSampler(dataset, num_replicas=1, rank=0, seed=seed)

# %% wrong_seed_not_passed_on (right_plain): wrong, ignores_seed, levels 0 0 0
-    sampler = DistributedSampler(dataset, seed=seed)
+    torch.manual_seed(seed)
+    sampler = DistributedSampler(dataset)

# %% wrong_seed_of_the_rank (right_plain): wrong, ranks_overlap, levels 0 0 0
-    sampler = DistributedSampler(dataset, seed=seed)
+    sampler = DistributedSampler(dataset, seed=seed + dist.get_rank())

# %% wrong_set_epoch_after (right_plain): wrong, set_epoch_late, levels 1 0 0
     for epoch in range(epochs):
+        seen.append([batch.tolist() for batch in loader])
@@
-        seen.append([batch.tolist() for batch in loader])

# %% wrong_shares_of_uneven_length: wrong, uneven_shares, levels 1 1 0
from torch.utils.data import DataLoader, Subset


def training_batches(dataset, global_batch_size, epochs, seed):
    p, r = dist.get_world_size(), dist.get_rank()
    seen = []
    for epoch in range(epochs):
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed + epoch)).tolist()
        loader = DataLoader(Subset(dataset, order[r::p]), batch_size=global_batch_size // p)
        seen.append([batch.tolist() for batch in loader])
    return seen

# %% wrong_shuffles_own_share (right_plain): wrong, other_order, levels 0 0 0
-    sampler = DistributedSampler(dataset, seed=seed)
-    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
+    own = list(DistributedSampler(dataset, shuffle=False))
@@
-        sampler.set_epoch(epoch)
+        random.Random(seed + epoch).shuffle(own)
+        loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=own)

# %% wrong_shuffles_the_batches: wrong, other_order, levels 0 0 0
def training_batches(dataset, global_batch_size, epochs, seed):
    s = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=s)
    out = []
    for e in range(epochs):
        s.set_epoch(e)
        batches = list(loader)
        random.Random(e).shuffle(batches)
        out.append(batches)
    return out

# %% wrong_two_replicas (right_plain): raised, ValueError, levels 1 0 0
-    sampler = DistributedSampler(dataset, seed=seed)
+    sampler = DistributedSampler(dataset, num_replicas=2, rank=dist.get_rank(), seed=seed)

# %% wrong_waits_for_rank_0 (right_plain): hung, missing_rank, levels 0 0 0
         sampler.set_epoch(epoch)
+        if dist.get_rank() > 0:
+            dist.barrier()
