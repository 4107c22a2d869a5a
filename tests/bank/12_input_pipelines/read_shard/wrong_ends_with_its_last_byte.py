# verdict: wrong, diagnosis: whole_one_blamed
import io
import tarfile


def read_shard(name, archive, decode):
    good, bad = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive), mode="r:")
    except tarfile.ReadError:
        return [], [(name, None)]
    while True:
        try:
            member = tar.next()
        except tarfile.ReadError:
            break
        if member is None:
            break
        if member.offset_data + member.size >= len(archive):
            bad.append((name, member.name))
            break
        try:
            good.append((member.name, decode(tar.extractfile(member).read())))
        except Exception:
            bad.append((name, member.name))
    return good, bad
