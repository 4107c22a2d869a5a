# verdict: passed
# differs: It asks for one member at a time, so the place where the archive breaks off is known.
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.TarError:
        return samples, [(name, None)]
    while True:
        try:
            member = tar.next()
        except tarfile.TarError:
            break
        if member is None:
            break
        try:
            samples.append((member.name, decode(tar.extractfile(member).read())))
        except Exception:
            broken.append((name, member.name))
    return samples, broken
