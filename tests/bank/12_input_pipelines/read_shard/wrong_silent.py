# verdict: wrong, diagnosis: names_nothing
import io
import tarfile


def read_shard(name, archive, decode):
    samples = []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
        for member in tar:
            try:
                samples.append((member.name, decode(tar.extractfile(member).read())))
            except Exception:
                continue
    except tarfile.TarError:
        pass
    return samples, []
