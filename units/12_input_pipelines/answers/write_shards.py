# Right and wrong answers to `write_shards`. In files of their own: autograder bank --write DIR
import io
import numpy as np
import tarfile
import tempfile

# %% right_files: passed
import os


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

# %% right_longer_ones_last: passed
# differs: The borders are multiples of count / n, rounded down, so no rest has to be handed out.
def write_shards(samples, n):
    if not 0 < n <= len(samples):
        raise ValueError("an empty shard")
    shards, count = [], len(samples)
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, content in samples[k * count // n : (k + 1) * count // n]:
                info = tarfile.TarInfo(name=key)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(out.getvalue())
    return shards

# %% right_tarinfo: passed
def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError(f"{len(samples)} samples in {n} shards")
    shards, at = [], 0
    for k in range(n):
        size = len(samples) // n + (k < len(samples) % n)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, data in samples[at : at + size]:
                info = tarfile.TarInfo(key)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        shards.append(out.getvalue())
        at += size
    return shards

# %% wrong_all_names_alike: wrong, not_the_samples, levels 0 0 1
def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    shards = []
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for i in range(k * len(samples) // n, (k + 1) * len(samples) // n):
                info = tarfile.TarInfo(f"{i:05d}")
                info.size = len(samples[i][1])
                tar.addfile(info, io.BytesIO(samples[i][1]))
        shards.append(out.getvalue())
    return shards

# %% wrong_ascii_names: wrong, not_the_samples, levels 0 1 1
def write_shards(samples, n):
    if n < 1 or n > len(samples):
        raise ValueError
    shards = []
    bounds = [s * len(samples) // n for s in range(n + 1)]
    for a, b in zip(bounds, bounds[1:]):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", encoding="ascii", errors="replace", format=tarfile.GNU_FORMAT) as tar:
            for name, content in samples[a:b]:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(buffer.getvalue())
    return shards

# %% wrong_buffers (right_tarinfo): wrong, no_archive, levels 0 0 1
-        raise ValueError(f"{len(samples)} samples in {n} shards")
+        raise ValueError
@@
-        shards.append(out.getvalue())
+        shards.append(out)

# %% wrong_ceil: wrong, sizes_differ, levels 1 0 1
import math


def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    shards, size = [], math.ceil(len(samples) / n)
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, data in samples[k * size : (k + 1) * size]:
                info = tarfile.TarInfo(key)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        shards.append(out.getvalue())
    return shards

# %% wrong_compressed: wrong, compressed, levels 0 0 1
def write_shards(samples, n):
    if n < 1 or n > len(samples):
        raise ValueError("shards would be empty")
    size, more = divmod(len(samples), n)
    waiting, shards = iter(samples), []
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for _ in range(size + (k < more)):
                name, content = next(waiting)
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(out.getvalue())
    return shards

# %% wrong_contents_as_text (right_tarinfo): wrong, not_the_samples, levels 0 1 1
-        raise ValueError(f"{len(samples)} samples in {n} shards")
+        raise ValueError
@@
-            for key, data in samples[at : at + size]:
-                info = tarfile.TarInfo(key)
+            for name, content in samples[at : at + size]:
+                text = content.decode("utf-8", "ignore")
+                data = text.encode("utf-8")
+                info = tarfile.TarInfo(name)

# %% wrong_contents_through_numpy: wrong, not_the_samples, levels 0 1 1
def write_shards(samples: list[tuple[str, bytes]], n: int) -> list[bytes]:
    if n < 1 or n > len(samples):
        raise ValueError("n must be at least 1 and no shard may be empty")
    names = np.array_split([name for name, _ in samples], n)
    contents = np.array_split([content for _, content in samples], n)
    shards = []
    for some_names, some_contents in zip(names, contents):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, content in zip(some_names, some_contents):
                info = tarfile.TarInfo(str(name))
                info.size = len(content)
                tar.addfile(info, io.BytesIO(bytes(content)))
        shards.append(out.getvalue())
    return shards

# %% wrong_divides_by_zero: raised, not_a_value_error, levels 1 1 0
def write_shards(samples, n):
    size, more = len(samples) // n, len(samples) % n
    if size == 0:
        raise ValueError("a shard would be empty")
    if n < 0:
        raise ValueError("no shards")
    shards, at = [], 0
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, content in samples[at : at + size + (k < more)]:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        at += size + (k < more)
        shards.append(out.getvalue())
    return shards

# %% wrong_files_under_their_names: raised, OSError, levels 0 1 1
from pathlib import Path


def write_shards(samples, n):
    if n < 1 or n > len(samples):
        raise ValueError
    shards = []
    bounds = [k * len(samples) // n for k in range(n + 1)]
    for a, b in zip(bounds, bounds[1:]):
        out = io.BytesIO()
        with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=out, mode="w") as tar:
            for name, content in samples[a:b]:
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                tar.add(path, arcname=name)
        shards.append(out.getvalue())
    return shards

# %% wrong_floor (right_tarinfo): wrong, drops_the_remainder, levels 1 0 1
-        raise ValueError(f"{len(samples)} samples in {n} shards")
-    shards, at = [], 0
+        raise ValueError
+    shards, size = [], len(samples) // n
@@
-        size = len(samples) // n + (k < len(samples) % n)
@@
-            for key, data in samples[at : at + size]:
+            for key, data in samples[k * size : (k + 1) * size]:
@@
-        at += size

# %% wrong_glued: wrong, no_archive, levels 0 0 1
import itertools


def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    few, more = divmod(len(samples), n)
    ends = [k * few + min(k, more) for k in range(n + 1)]
    return [b"".join(data for _, data in samples[a:b]) for a, b in itertools.pairwise(ends)]

# %% wrong_in_turn (right_tarinfo): wrong, dealt_in_turn, levels 0 0 1
-        raise ValueError(f"{len(samples)} samples in {n} shards")
-    shards, at = [], 0
+        raise ValueError
+    shards = []
@@
-        size = len(samples) // n + (k < len(samples) % n)
@@
-            for key, data in samples[at : at + size]:
+            for key, data in samples[k::n]:
@@
-        at += size

# %% wrong_last_takes_all: wrong, sizes_differ, levels 1 0 1
def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    shards, size = [], len(samples) // n
    for k in range(n):
        out = io.BytesIO()
        end = (k + 1) * size if k < n - 1 else len(samples)
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, data in samples[k * size : end]:
                info = tarfile.TarInfo(key)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        shards.append(out.getvalue())
    return shards

# %% wrong_minus_one (right_longer_ones_last): wrong, takes_anything, levels 1 1 0
-    if not 0 < n <= len(samples):
+    if n == 0 or n > len(samples):
@@
-            for key, content in samples[k * count // n : (k + 1) * count // n]:
-                info = tarfile.TarInfo(name=key)
+            for name, content in samples[k * count // n : (k + 1) * count // n]:
+                info = tarfile.TarInfo(name)

# %% wrong_names_as_paths: wrong, not_the_samples, levels 0 1 1
from pathlib import PurePosixPath


def write_shards(samples, n):
    if not 1 <= n <= len(samples):
        raise ValueError
    shards = []
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, content in samples[k * len(samples) // n : (k + 1) * len(samples) // n]:
                info = tarfile.TarInfo(str(PurePosixPath(name)))
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(out.getvalue())
    return shards

# %% wrong_names_cut: wrong, names_cut, levels 0 1 1
def write_shards(samples, n):
    if n < 1 or n > len(samples):
        raise ValueError("shards would be empty")
    size, more = divmod(len(samples), n)
    waiting, shards = iter(samples), []
    for k in range(n):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for _ in range(size + (k < more)):
                name, content = next(waiting)
                info = tarfile.TarInfo(name[:100])  # a header has 100 bytes for it
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(out.getvalue())
    return shards

# %% wrong_no_empty_files (right_longer_ones_last): wrong, not_the_samples, levels 0 1 1
-    if not 0 < n <= len(samples):
+    if n < 1 or n > len(samples):
@@
-            for key, content in samples[k * count // n : (k + 1) * count // n]:
-                info = tarfile.TarInfo(name=key)
+            for name, content in samples[k * count // n : (k + 1) * count // n]:
+                if not content:
+                    continue
+                info = tarfile.TarInfo(name)

# %% wrong_no_error (right_tarinfo): wrong, takes_anything, levels 1 1 0
-    if not 1 <= n <= len(samples):
-        raise ValueError(f"{len(samples)} samples in {n} shards")

# %% wrong_no_samples: wrong, takes_anything, levels 1 1 0
def write_shards(samples, n):
    if n < 1 or samples and n > len(samples):
        raise ValueError
    shards = []
    bounds = [s * len(samples) // n for s in range(n + 1)]
    for a, b in zip(bounds, bounds[1:]):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, content in samples[a:b]:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(buffer.getvalue())
    return shards

# %% wrong_no_size (right_tarinfo): wrong, empty_files, levels 0 0 1
-        raise ValueError(f"{len(samples)} samples in {n} shards")
+        raise ValueError
@@
-                info = tarfile.TarInfo(key)
-                info.size = len(data)
-                tar.addfile(info, io.BytesIO(data))
+                tar.addfile(tarfile.TarInfo(key), io.BytesIO(data))

# %% wrong_not_closed: wrong, not_closed, levels 0 0 1
def write_shards(samples, n):
    if n < 1 or n > len(samples):
        raise ValueError
    shards = []
    bounds = [s * len(samples) // n for s in range(n + 1)]
    for a, b in zip(bounds, bounds[1:]):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, content in samples[a:b]:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
            shards.append(buffer.getvalue())
    return shards

# %% wrong_one_of_each_name: wrong, one_of_each_name, levels 0 1 1
def write_shards(samples, n):
    samples = list(dict(samples).items())
    if n < 1 or n > len(samples):
        raise ValueError
    shards = []
    bounds = [s * len(samples) // n for s in range(n + 1)]
    for a, b in zip(bounds, bounds[1:]):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, content in samples[a:b]:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(buffer.getvalue())
    return shards

# %% wrong_sorted (right_tarinfo): wrong, not_in_order, levels 0 0 1
-        raise ValueError(f"{len(samples)} samples in {n} shards")
-    shards, at = [], 0
+        raise ValueError("no empty shards")
+    samples, shards, at = sorted(samples), [], 0
@@
-            for key, data in samples[at : at + size]:
+            for key, content in samples[at : at + size]:
@@
-                info.size = len(data)
-                tar.addfile(info, io.BytesIO(data))
+                info.size = len(content)
+                tar.addfile(info, io.BytesIO(content))

# %% wrong_strips_leading_dots: wrong, not_the_samples, levels 0 1 1
def write_shards(samples, n):
    if n < 1 or n > len(samples):
        raise ValueError("a shard would be empty")
    bounds = [k * len(samples) // n for k in range(n + 1)]
    shards = []
    for start, stop in zip(bounds, bounds[1:]):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, content in samples[start:stop]:
                info = tarfile.TarInfo(name.lstrip("./"))  # relative to the archive
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(file.getvalue())
    return shards

# %% wrong_tidied_names (right_tarinfo): wrong, not_the_samples, levels 0 1 1
-                info = tarfile.TarInfo(key)
+                info = tarfile.TarInfo(key.strip())

# %% wrong_without_folders (right_longer_ones_last): wrong, not_the_samples, levels 0 1 1
-    if not 0 < n <= len(samples):
+    if n < 1 or n > len(samples):
@@
-            for key, content in samples[k * count // n : (k + 1) * count // n]:
-                info = tarfile.TarInfo(name=key)
+            for name, content in samples[k * count // n : (k + 1) * count // n]:
+                info = tarfile.TarInfo(name.rsplit("/", 1)[-1])
