# Right and wrong answers to `read_shard`. In files of their own: autograder bank --write DIR
import io
import tarfile

# %% right_by_hand: passed
def read_shard(name, archive, decode):
    """The format is simple: a header of 512 bytes, the file, filled up to a multiple of 512."""
    samples, broken, at, long = [], [], 0, None
    if len(archive) < 512:
        broken.append((name, None))
    while at + 512 <= len(archive) and archive[at] != 0:
        header = archive[at : at + 512]
        if header[257:262] != b"ustar":
            broken.append((name, None))
            break
        key = long or header[:100].rstrip(b"\0").decode()
        size = int(header[124:136].rstrip(b"\0 "), 8)
        data = archive[at + 512 : at + 512 + size]
        at += 512 + -(-size // 512) * 512
        if header[156:157] == b"x":  # before a file whose name is too long, or no ASCII: "22 path=NAME"
            long = data.decode().partition("path=")[2].rstrip("\n")
            continue
        long = None
        try:
            if len(data) < size:
                raise ValueError("torn")
            samples.append((key, decode(data)))
        except Exception:
            broken.append((name, key))
    return samples, broken

# %% right_for: passed
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

# %% right_next: passed
# differs: It asks for one member at a time, so the place where the archive breaks off is known.
def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.TarError:
        return samples, [(name, None)]
    while True:
        try:
            member = tar.next()
        except tarfile.TarError:
            break
        if member is None:
            break
        try:
            samples.append((member.name, decode(tar.extractfile(member).read())))
        except Exception:
            broken.append((name, member.name))
    return samples, broken

# %% wrong_all_or_nothing: wrong, whole_shard_lost, levels 1 0 0
def read_shard(name, archive, decode):
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            return [(m.name, decode(tar.extractfile(m).read())) for m in tar], []
    except Exception:
        return [], [(name, None)]

# %% wrong_basename: wrong, folder_cut, levels 0 1 1
import os


def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.ReadError:
        return [], [(name, None)]
    while True:
        try:
            member = tar.next()
            if member is None:
                break
        except tarfile.ReadError:
            break
        key = os.path.basename(member.name)
        try:
            samples.append((key, decode(tar.extractfile(member).read())))
        except Exception:
            broken.append((name, key))
    return samples, broken

# %% wrong_broken_once (right_next): wrong, one_of_each_key, levels 1 0 1
         if member is None:
             break
+        key = member.name
@@
-            samples.append((member.name, decode(tar.extractfile(member).read())))
+            samples.append((key, decode(tar.extractfile(member).read())))
@@
-            broken.append((name, member.name))
+            broken.append((name, key))
+    broken = list(dict.fromkeys(broken))

# %% wrong_empty_file_is_broken (right_next): wrong, empty_is_broken, levels 0 1 1
-    except tarfile.TarError:
-        return samples, [(name, None)]
+    except tarfile.ReadError:
+        return [], [(name, None)]
@@
-        except tarfile.TarError:
-            break
-        if member is None:
+            if member is None:
+                break
+        except tarfile.ReadError:
@@
-            samples.append((member.name, decode(tar.extractfile(member).read())))
+            content = tar.extractfile(member).read()
+            if not content:
+                raise EOFError
+            samples.append((member.name, decode(content)))

# %% wrong_empty_is_broken: wrong, none_is_broken, levels 0 1 1
def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.ReadError:
        return [], [(name, None)]
    while True:
        try:
            member = tar.next()
        except tarfile.TarError:
            return samples, broken
        if not member:
            return samples, broken
        sample = []
        try:
            sample = decode(tar.extractfile(member).read())
        except Exception:
            pass
        if sample or sample is None:
            samples.append((member.name, sample))
        else:
            broken.append((name, member.name))

# %% wrong_ends_with_its_last_byte: wrong, whole_one_blamed, levels 1 1 0
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

# %% wrong_getmembers: wrong, whole_shard_lost, levels 1 1 0
def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
        members = tar.getmembers()
    except tarfile.TarError:
        return [], [(name, None)]
    for member in members:
        try:
            samples.append((member.name, decode(tar.extractfile(member).read())))
        except Exception:
            broken.append((name, member.name))
    return samples, broken

# %% wrong_headers_by_hand (right_by_hand): wrong, shard_not_named, levels 0 1 0
-    """The format is simple: a header of 512 bytes, the file, filled up to a multiple of 512."""
-    samples, broken, at, long = [], [], 0, None
-    if len(archive) < 512:
-        broken.append((name, None))
+    samples, broken, at = [], [], 0
@@
-        key = long or header[:100].rstrip(b"\0").decode()
+        key = header[:100].rstrip(b"\0").decode()
@@
-        if header[156:157] == b"x":  # before a file whose name is too long, or no ASCII: "22 path=NAME"
-            long = data.decode().partition("path=")[2].rstrip("\n")
-            continue
-        long = None

# %% wrong_keys_alone (right_next): wrong, not_named_by_both, levels 1 0 0
-        return samples, [(name, None)]
+        return samples, [None]
@@
-            broken.append((name, member.name))
+            broken.append(member.name)

# %% wrong_keys_stripped (right_next): wrong, unrecognised, levels 0 1 1
         if member is None:
             break
+        key = member.name.lstrip("./")
@@
-            samples.append((member.name, decode(tar.extractfile(member).read())))
+            samples.append((key, decode(tar.extractfile(member).read())))
@@
-            broken.append((name, member.name))
+            broken.append((name, key))
+

# %% wrong_last_one_blamed (right_next): wrong, whole_one_blamed, levels 1 1 0
         return samples, [(name, None)]
+    last = None
@@
         except tarfile.TarError:
-            break
+            if last is not None and (name, last) not in broken:
+                broken.append((name, last))
+            return samples, broken
@@
         if member is None:
-            break
+            return samples, broken
+        last = member.name
@@
-            samples.append((member.name, decode(tar.extractfile(member).read())))
+            samples.append((last, decode(tar.extractfile(member).read())))
@@
-            broken.append((name, member.name))
-    return samples, broken
+            broken.append((name, last))

# %% wrong_no_file_is_no_archive (right_next): wrong, no_file_is_no_archive, levels 0 1 1
         if member is None:
             break
+        key = member.name
@@
-            samples.append((member.name, decode(tar.extractfile(member).read())))
+            samples.append((key, decode(tar.extractfile(member).read())))
@@
-            broken.append((name, member.name))
+            broken.append((name, key))
+    if not samples and not broken:
+        broken.append((name, None))

# %% wrong_none: wrong, keeps_a_place, levels 1 0 0
def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
        for member in tar:
            data = None
            try:
                data = decode(tar.extractfile(member).read())
            except tarfile.TarError:
                broken.append((name, member.name))
                continue
            except Exception:
                broken.append((name, member.name))
            samples.append((member.name, data))
    except tarfile.TarError:
        if not samples:
            broken.append((name, None))
    return samples, broken

# %% wrong_none_is_broken (right_next): wrong, none_is_broken, levels 0 1 1
 def read_shard(name, archive, decode):
+    def decoded(data):
+        try:
+            return decode(data)
+        except Exception:
+            return None
+
@@
-            samples.append((member.name, decode(tar.extractfile(member).read())))
-        except Exception:
+            sample = decoded(tar.extractfile(member).read())
+        except tarfile.TarError:
+            sample = None
+        if sample is None:
@@
             broken.append((name, member.name))
+        else:
+            samples.append((member.name, sample))

# %% wrong_nothing_read (right_next): wrong, names_the_break_alone, levels 1 1 0
-    samples, broken = [], []
+    samples, broken, torn = [], [], False
@@
-    except tarfile.TarError:
-        return samples, [(name, None)]
+    except tarfile.ReadError:
+        return [], [(name, None)]
@@
-        except tarfile.TarError:
+        except tarfile.ReadError:
+            torn = True
@@
             broken.append((name, member.name))
+    if torn and not samples:
+        return [], [(name, None)]  # nothing of it can be read

# %% wrong_one_of_each_key: wrong, one_of_each_key, levels 0 1 1
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
        try:
            good.append((member.name, decode(tar.extractfile(member).read())))
        except Exception:
            bad.append((name, member.name))
    return list(dict(good).items()), bad

# %% wrong_shorter_than_a_header (right_next): wrong, shard_not_named, levels 1 1 0
     samples, broken = [], []
+    if len(archive) < 512:
+        return [], []  # not even a header
@@
         if member is None:
             break
+        key = member.name
@@
-            samples.append((member.name, decode(tar.extractfile(member).read())))
+            samples.append((key, decode(tar.extractfile(member).read())))
@@
-            broken.append((name, member.name))
+            broken.append((name, key))
+

# %% wrong_silent: wrong, names_nothing, levels 1 0 0
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

# %% wrong_tar_errors_end_it: wrong, tar_error_of_decode, levels 1 0 1
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

# %% wrong_torn_somewhere: wrong, names_the_break_alone, levels 1 1 0
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

# %% wrong_torn_unnamed: wrong, break_not_named, levels 1 1 0
def read_shard(name, archive, decode):
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.TarError:
        return [], [(name, None)]
    try:
        for member in tar:
            data = tar.extractfile(member).read()
            try:
                samples.append((member.name, decode(data)))
            except Exception:
                broken.append((name, member.name))
    except tarfile.TarError:
        pass
    return samples, broken

# %% wrong_try_outside: wrong, stops_at_the_first, levels 1 0 0
def read_shard(name, archive, decode):
    samples, broken, key = [], [], None
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
        for member in tar:
            key = member.name
            samples.append((key, decode(tar.extractfile(member).read())))
    except Exception:
        broken.append((name, key))
    return samples, broken

# %% wrong_value_errors_alone (right_next): raised, error_of_decode, levels 1 0 0
-    while True:
-        try:
-            member = tar.next()
-        except tarfile.TarError:
-            break
-        if member is None:
-            break
+    for member in tar:
@@
-        except Exception:
+        except ValueError:
