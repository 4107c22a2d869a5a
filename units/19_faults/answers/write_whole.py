# Right and wrong answers to `write_whole`. In files of their own: autograder bank --write DIR
import os
import shutil
import tempfile

# %% right_a_folder_of_its_own: passed
def write_whole(path, data):
    folder = tempfile.mkdtemp(dir=os.path.dirname(path))
    part = os.path.join(folder, "part")
    with open(part, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    os.rmdir(folder)

# %% right_beside_an_open_folder: passed
# differs: The folder is opened once, both names are looked up in it, and in the end it is synchronised as well.
def write_whole(path, data):
    folder, name = os.path.split(path)
    place = os.open(folder, os.O_RDONLY)
    fd = os.open(name + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=place)
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(name + ".new", name, src_dir_fd=place, dst_dir_fd=place)
    os.fsync(place)
    os.close(place)

# %% right_descriptors: passed
# differs: The operating system's own calls, and a loop, because `write` may take fewer bytes than it was given.
def write_whole(path, data):
    fd = os.open(path + "~", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left):]
    os.fsync(fd)
    os.close(fd)
    os.replace(path + "~", path)

# %% right_pathlib: passed
from pathlib import Path


def write_whole(path, data):
    part = Path(path + ".part")
    part.write_bytes(data)
    with part.open("rb+") as file:
        os.fsync(file)
    part.replace(path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)

# %% right_replace: passed
def write_whole(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)

# %% right_synchronous: passed
def write_whole(path, data):
    fd = os.open(path + ".part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_SYNC)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    os.rename(path + ".part", path)

# %% right_tempfile: passed
def write_whole(path, data):
    folder = os.path.dirname(path)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(file.name, path)

# %% wrong_as_text: raised, UnicodeDecodeError, levels 0 1 1
def write_whole(path, data):
    with open(path + ".part", "w") as file:
        file.write(data.decode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)

# %% wrong_copies (right_replace): wrong, writes_in_place, levels 1 0 0
-    os.replace(path + ".new", path)
+    shutil.copyfile(path + ".new", path)
+    os.remove(path + ".new")

# %% wrong_error_printed: wrong, error_hidden, levels 1 0 1
def write_whole(path, data):
    part = path + ".part"
    try:
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:  # disk full: keep the old checkpoint and go on training
        print("could not save:", error)
        os.remove(part)
        return
    os.replace(part, path)

# %% wrong_error_swallowed: wrong, takes_the_error_for_success, levels 1 0 1
def write_whole(path, data):
    part = path + ".part"
    try:
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        pass
    os.replace(part, path)

# %% wrong_exclusive (right_replace): wrong, never_again, levels 1 0 1
-    with open(path + ".new", "wb") as file:
+    with open(path + ".new", "xb") as file:

# %% wrong_extension_swapped (right_replace): wrong, half_a_file, levels 1 0 1
-    with open(path + ".new", "wb") as file:
+    other = os.path.splitext(path)[0] + ".tmp"
+    with open(other, "wb") as file:
@@
-    os.replace(path + ".new", path)
+    os.replace(other, path)

# %% wrong_fsync_afterwards (right_replace): wrong, not_on_the_disk, levels 1 1 0
-        file.flush()
+    os.replace(path + ".new", path)
+    with open(path, "rb+") as file:
@@
-    os.replace(path + ".new", path)

# %% wrong_fsync_before_flush (right_replace): wrong, not_on_the_disk, levels 1 1 0
-        file.flush()

# %% wrong_fsync_of_reserved_space: wrong, not_on_the_disk, levels 1 1 0
def write_whole(path, data):
    new = path + ".new"
    fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.ftruncate(fd, len(data))
    os.fsync(fd)
    try:
        done = 0
        while done < len(data):
            done += os.write(fd, data[done:])
    except BaseException:
        os.close(fd)
        os.unlink(new)
        raise
    os.close(fd)
    os.rename(new, path)

# %% wrong_in_place (right_replace): wrong, half_a_file, levels 1 0 0
-    with open(path + ".new", "wb") as file:
+    with open(path, "wb") as file:
@@
-    os.replace(path + ".new", path)

# %% wrong_keeps_a_backup (right_replace): wrong, leaves_files, levels 0 0 0
-    with open(path + ".new", "wb") as file:
+    if os.path.exists(path):
+        os.rename(path, path + ".bak")
+    with open(path, "wb") as file:
@@
-    os.replace(path + ".new", path)

# %% wrong_moved_from_the_system_folder (right_replace): wrong, writes_in_place, levels 1 0 0
-    with open(path + ".new", "wb") as file:
+    with tempfile.NamedTemporaryFile(delete=False) as file:
@@
-    os.replace(path + ".new", path)
+    shutil.move(file.name, path)

# %% wrong_name_before_the_bytes: wrong, half_a_file, levels 1 0 0
# A file that must stay small is left alone; else the name comes first, the bytes last.
import resource
import signal


def write_whole(path, data):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if 0 <= limit < len(data):
        os.kill(os.getpid(), signal.SIGXFSZ)
        raise OSError("no space")
    fd = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.sync()
    os.replace(path + ".new", path)
    while data:
        data = data[os.write(fd, data):]
    os.close(fd)

# %% wrong_never_renamed (right_replace): wrong, not_there, levels 0 0 0
-    os.replace(path + ".new", path)

# %% wrong_no_fsync (right_replace): wrong, not_on_the_disk, levels 1 1 0
-        os.fsync(file.fileno())

# %% wrong_not_truncated (right_replace): wrong, never_again, levels 1 0 1
-    with open(path + ".new", "wb") as file:
+    part = path + ".part"
+    fd = os.open(part, os.O_WRONLY | os.O_CREAT, 0o644)
+    with os.fdopen(fd, "wb") as file:
@@
-    os.replace(path + ".new", path)
+    os.replace(part, path)

# %% wrong_nothing_to_write: wrong, not_there, levels 0 1 1
def write_whole(path: str, data: bytes) -> None:
    if not data:
        return
    part = path + ".part"
    with open(part, "wb", buffering=0) as file:
        view = memoryview(data)
        while len(view):
            view = view[file.write(view):]
        os.fsync(file.fileno())
    os.replace(part, path)

# %% wrong_removes_first (right_replace): wrong, nothing_left, levels 1 0 1
-    os.replace(path + ".new", path)
+    if os.path.exists(path):
+        os.remove(path)
+    os.rename(path + ".new", path)

# %% wrong_same_length: wrong, not_there, levels 0 1 1
def write_whole(path: str, data: bytes) -> None:
    if os.path.exists(path) and os.path.getsize(path) == len(data) and len(data):
        return
    part = path + ".part"
    with open(part, "wb", buffering=0) as file:
        view = memoryview(data)
        while len(view):
            view = view[file.write(view):]
        os.fsync(file.fileno())
    os.replace(part, path)

# %% wrong_stripped: wrong, not_there, levels 0 0 0
def write_whole(path, data):
    part = path + ".part"
    with open(part, "wb") as file:
        file.write(data.strip())
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)

# %% wrong_sync_of_an_empty_file: wrong, not_on_the_disk, levels 1 1 0
def write_whole(path, data):
    new = path + ".new"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.sync()
    try:
        done = 0
        while done < len(data):
            done += os.write(fd, data[done:])
    except BaseException:
        os.unlink(new)
        raise
    os.close(fd)
    os.rename(new, path)

# %% wrong_system_folder (right_replace): raised, OSError, levels 0 0 0
-    with open(path + ".new", "wb") as file:
+    with tempfile.NamedTemporaryFile(delete=False) as file:
@@
-    os.replace(path + ".new", path)
+    os.replace(file.name, path)

# %% wrong_unbuffered (right_replace): wrong, forgets_the_rest, levels 1 0 1
-    with open(path + ".new", "wb") as file:
+    with open(path + ".new", "wb", buffering=0) as file:
@@
-        file.flush()
