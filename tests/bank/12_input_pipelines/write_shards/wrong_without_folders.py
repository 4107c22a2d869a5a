# verdict: wrong, diagnosis: not_the_samples
import io
import tarfile


def write_shards(samples, n):
    if n < 1 or n > len(samples):
        raise ValueError("an empty shard")
    shards, count = [], len(samples)
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, content in samples[k * count // n : (k + 1) * count // n]:
                info = tarfile.TarInfo(name.rsplit("/", 1)[-1])
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(out.getvalue())
    return shards
