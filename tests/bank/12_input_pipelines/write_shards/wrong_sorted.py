# verdict: wrong, diagnosis: not_in_order
import io
import tarfile


def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError("no empty shards")
    samples, shards, at = sorted(samples), [], 0
    for k in range(n):
        size = len(samples) // n + (k < len(samples) % n)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, content in samples[at : at + size]:
                info = tarfile.TarInfo(key)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(out.getvalue())
        at += size
    return shards
