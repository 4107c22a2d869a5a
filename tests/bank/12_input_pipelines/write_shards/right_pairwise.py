# verdict: passed
import io
import itertools
import tarfile


def write_shards(samples, n):
    if n > len(samples) or n <= 0:
        raise ValueError

    def shard(part):
        out = io.BytesIO()
        tar = tarfile.TarFile(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT)
        for key, data in part:
            info = tarfile.TarInfo(key)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        tar.close()
        return out.getvalue()

    few, more = divmod(len(samples), n)
    ends = [k * few + min(k, more) for k in range(n + 1)]
    return tuple(shard(samples[a:b]) for a, b in itertools.pairwise(ends))
