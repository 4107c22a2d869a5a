# verdict: wrong, diagnosis: break_not_named
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.TarError:
        return [], [(name, None)]
    try:
        for member in tar:
            data = tar.extractfile(member).read()
            try:
                samples.append((member.name, decode(data)))
            except Exception:
                broken.append((name, member.name))
    except tarfile.TarError:
        pass
    return samples, broken
