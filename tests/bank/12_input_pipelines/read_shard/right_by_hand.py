# verdict: passed
def read_shard(name, archive, decode):
    """The format is simple: a header of 512 bytes, the file, filled up to a multiple of 512."""
    samples, broken, at = [], [], 0
    while at + 512 <= len(archive) and archive[at] != 0:
        header = archive[at : at + 512]
        if header[257:262] != b"ustar":
            broken.append((name, None))
            break
        key = header[:100].rstrip(b"\0").decode()
        size = int(header[124:136].rstrip(b"\0 "), 8)
        data = archive[at + 512 : at + 512 + size]
        at += 512 + -(-size // 512) * 512
        try:
            if len(data) < size:
                raise ValueError("torn")
            samples.append((key, decode(data)))
        except Exception:
            broken.append((name, key))
    return samples, broken
