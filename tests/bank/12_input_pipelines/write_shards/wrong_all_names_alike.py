# verdict: wrong, diagnosis: not_the_samples
import io
import tarfile


def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    shards = []
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for i in range(k * len(samples) // n, (k + 1) * len(samples) // n):
                info = tarfile.TarInfo(f"{i:05d}")
                info.size = len(samples[i][1])
                tar.addfile(info, io.BytesIO(samples[i][1]))
        shards.append(out.getvalue())
    return shards
