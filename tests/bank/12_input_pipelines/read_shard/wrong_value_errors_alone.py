# verdict: raised, diagnosis: error_of_decode
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.TarError:
        return samples, [(name, None)]
    for member in tar:
        try:
            samples.append((member.name, decode(tar.extractfile(member).read())))
        except ValueError:
            broken.append((name, member.name))
    return samples, broken
