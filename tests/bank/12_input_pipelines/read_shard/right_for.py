# verdict: passed
import io
import tarfile


def read_shard(name, archive, decode):
    samples, broken, key = [], [], None
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            for member in tar:
                key = member.name
                try:
                    data = decode(tar.extractfile(member).read())
                except Exception as error:
                    print("cannot read", name, key, repr(error))
                    broken.append([name, key])
                else:
                    samples.append([key, data])
    except tarfile.ReadError:
        if key is None:
            broken.append([name, None])
    return [samples, broken]
