# verdict: wrong, diagnosis: whole_shard_lost
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
        members = tar.getmembers()
    except tarfile.TarError:
        return [], [(name, None)]
    for member in members:
        try:
            samples.append((member.name, decode(tar.extractfile(member).read())))
        except Exception:
            broken.append((name, member.name))
    return samples, broken
