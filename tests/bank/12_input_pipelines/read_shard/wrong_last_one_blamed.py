# verdict: wrong, diagnosis: whole_one_blamed
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.TarError:
        return samples, [(name, None)]
    last = None
    while True:
        try:
            member = tar.next()
        except tarfile.TarError:
            if last is not None and (name, last) not in broken:
                broken.append((name, last))
            return samples, broken
        if member is None:
            return samples, broken
        last = member.name
        try:
            samples.append((last, decode(tar.extractfile(member).read())))
        except Exception:
            broken.append((name, last))
