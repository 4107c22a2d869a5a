# verdict: raised, diagnosis: not_a_value_error
import io
import tarfile


def write_shards(samples, n):
    size, more = len(samples) // n, len(samples) % n
    if size == 0:
        raise ValueError("a shard would be empty")
    if n < 0:
        raise ValueError("no shards")
    shards, at = [], 0
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, content in samples[at : at + size + (k < more)]:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        at += size + (k < more)
        shards.append(out.getvalue())
    return shards
