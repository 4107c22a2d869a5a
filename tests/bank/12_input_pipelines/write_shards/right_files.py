# verdict: passed
import os
import tarfile
import tempfile

import numpy as np


def write_shards(samples, n):
    if n < 1 or n > len(samples):
        raise ValueError("no empty shards")
    shards = []
    for ids in np.array_split(np.arange(len(samples)), n):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(os.path.join(folder, "out"), "w") as tar:
                for i in ids:
                    key, data = samples[i]
                    with open(os.path.join(folder, "one"), "wb") as file:
                        file.write(data)
                    tar.add(os.path.join(folder, "one"), arcname=key)
            with open(os.path.join(folder, "out"), "rb") as file:
                shards.append(file.read())
    return shards
