# verdict: wrong, diagnosis: keeps_a_place
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
        for member in tar:
            data = None
            try:
                data = decode(tar.extractfile(member).read())
            except tarfile.TarError:
                broken.append((name, member.name))
                continue
            except Exception:
                broken.append((name, member.name))
            samples.append((member.name, data))
    except tarfile.TarError:
        if not samples:
            broken.append((name, None))
    return samples, broken
