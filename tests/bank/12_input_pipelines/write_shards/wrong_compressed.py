# verdict: wrong, diagnosis: compressed
import io
import tarfile


def write_shards(samples, n):
    if n < 1 or n > len(samples):
        raise ValueError("shards would be empty")
    size, more = divmod(len(samples), n)
    waiting, shards = iter(samples), []
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for _ in range(size + (k < more)):
                name, content = next(waiting)
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(out.getvalue())
    return shards
