# verdict: wrong, diagnosis: none_is_broken
import io
import tarfile


def read_shard(name, archive, decode):
    def decoded(data):
        try:
            return decode(data)
        except Exception:
            return None

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
            sample = decoded(tar.extractfile(member).read())
        except tarfile.TarError:
            sample = None
        if sample is None:
            broken.append((name, member.name))
        else:
            samples.append((member.name, sample))
    return samples, broken
