# verdict: wrong, diagnosis: sizes_differ
import io
import tarfile


def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    shards, size = [], len(samples) // n
    for k in range(n):
        out = io.BytesIO()
        end = (k + 1) * size if k < n - 1 else len(samples)
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, data in samples[k * size : end]:
                info = tarfile.TarInfo(key)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        shards.append(out.getvalue())
    return shards
