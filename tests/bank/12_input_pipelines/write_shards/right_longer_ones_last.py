# verdict: passed
# differs: The borders are multiples of count / n, rounded down, so no rest has to be handed out.
import io
import tarfile


def write_shards(samples, n):
    if not 0 < n <= len(samples):
        raise ValueError("an empty shard")
    shards, count = [], len(samples)
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, content in samples[k * count // n : (k + 1) * count // n]:
                info = tarfile.TarInfo(name=key)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(out.getvalue())
    return shards
