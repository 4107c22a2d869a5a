# verdict: wrong, diagnosis: stops_at_the_first
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken, key = [], [], None
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
        for member in tar:
            key = member.name
            samples.append((key, decode(tar.extractfile(member).read())))
    except Exception:
        broken.append((name, key))
    return samples, broken
