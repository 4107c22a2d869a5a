# verdict: wrong, diagnosis: whole_shard_lost
import io
import tarfile


def read_shard(name, archive, decode):
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            return [(m.name, decode(tar.extractfile(m).read())) for m in tar], []
    except Exception:
        return [], [(name, None)]
