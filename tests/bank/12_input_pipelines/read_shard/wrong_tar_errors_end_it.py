# verdict: wrong, diagnosis: tar_error_of_decode
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.TarError:
        return samples, [(name, None)]
    key = None
    try:
        while (member := tar.next()) is not None:
            key = member.name
            try:
                samples.append((key, decode(tar.extractfile(member).read())))
            except tarfile.TarError:
                broken.append((name, key))
                break
            except Exception:
                broken.append((name, key))
    except tarfile.TarError:
        pass
    return samples, broken
