# verdict: wrong, diagnosis: empty_files
import io
import tarfile


def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    shards, at = [], 0
    for k in range(n):
        size = len(samples) // n + (k < len(samples) % n)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, data in samples[at : at + size]:
                tar.addfile(tarfile.TarInfo(key), io.BytesIO(data))
        shards.append(out.getvalue())
        at += size
    return shards
