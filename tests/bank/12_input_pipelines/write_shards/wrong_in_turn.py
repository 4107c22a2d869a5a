# verdict: wrong, diagnosis: dealt_in_turn
import io
import tarfile


def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    shards = []
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, data in samples[k::n]:
                info = tarfile.TarInfo(key)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        shards.append(out.getvalue())
    return shards
