# verdict: wrong, diagnosis: names_the_break_alone
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
        for member in tar:
            data = tar.extractfile(member).read()
            try:
                samples.append((member.name, decode(data)))
            except Exception:
                broken.append((name, member.name))
    except tarfile.TarError:
        broken.append((name, None))
    return samples, broken
