# verdict: wrong, diagnosis: takes_anything
import io
import tarfile


def write_shards(samples, n):
    shards, at = [], 0
    for k in range(n):
        size = len(samples) // n + (k < len(samples) % n)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, data in samples[at : at + size]:
                info = tarfile.TarInfo(key)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        shards.append(out.getvalue())
        at += size
    return shards
