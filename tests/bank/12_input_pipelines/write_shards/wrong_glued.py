# verdict: wrong, diagnosis: no_archive
import itertools


def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    few, more = divmod(len(samples), n)
    ends = [k * few + min(k, more) for k in range(n + 1)]
    return [b"".join(data for _, data in samples[a:b]) for a, b in itertools.pairwise(ends)]
