# verdict: wrong, diagnosis: none_is_broken
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.ReadError:
        return [], [(name, None)]
    while True:
        try:
            member = tar.next()
        except tarfile.TarError:
            return samples, broken
        if not member:
            return samples, broken
        sample = []
        try:
            sample = decode(tar.extractfile(member).read())
        except Exception:
            pass
        if sample or sample is None:
            samples.append((member.name, sample))
        else:
            broken.append((name, member.name))
