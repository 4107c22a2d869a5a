"""The life of a training script in a rank, whatever framework it is written for, and images that know their number.

Images carry their own number: `mark` writes it in black and white into the first and the last row of pixels, and
`numbers` reads it back from whatever comes to the model, scaled or flattened as it may be. `probes.script` watches
programs of TensorFlow and Horovod, `probes.ddp` those of PyTorch.
"""

from __future__ import annotations

import os
import sys
import tempfile
import types
from pathlib import Path

import numpy as np

BITS = 15  # of an image's number
TEST = 1 << (BITS - 1)  # added to the numbers of test images
LARGEST_LOG = 1 << 20  # bytes of a run log that are sent back
MOST_FILES = 60
_OPTIONS = ("warm",)  # options of the command line that are noted: those with this in their names

# -- images that know their number -------------------------------------------------------------------------------------


def mark(images: np.ndarray, test: bool = False) -> np.ndarray:
    """images: uint8 (n, 28, 28). A copy in which each carries its number, counted from 0: one black and one white
    pixel, then 15 bits in black and white; the same upside down in the last row, black and white exchanged."""
    marked = images.copy()
    numbers = np.arange(len(images)) + (TEST if test else 0)
    bits = (numbers[:, None] >> np.arange(BITS)) & 1
    row = np.concatenate([np.zeros_like(bits[:, :1]), np.ones_like(bits[:, :1]), bits], axis=1).astype(np.uint8) * 255
    marked[:, 0, : BITS + 2] = row
    marked[:, -1, : BITS + 2] = 255 - row
    return marked


def numbers(batch: np.ndarray) -> list[int] | None:
    """The numbers of the images of a minibatch, (n, 28, 28, 1), (n, 28, 28) or (n, 784), of any scale; None if it is of
    anything else."""
    if batch.ndim < 2 or batch.size != len(batch) * 784 or not len(batch):
        return None
    rows = np.asarray(batch, dtype=np.float64).reshape(len(batch), 28, 28)
    above, below = rows[:, 0, : BITS + 2], rows[:, -1, : BITS + 2]
    if not np.isfinite(above).all() or not np.isfinite(below).all():
        return None
    middle = (above[:, :1] + above[:, 1:2]) / 2
    bright, dark = (above > middle), (below > middle)
    if (above[:, 0] == above[:, 1]).any() or (bright == dark).any() or bright[:, 0].any() or not bright[:, 1].all():
        return None
    return [int(number) for number in (bright[:, 2:] << np.arange(BITS)).sum(axis=1)]


# -- the life of a script in a rank ------------------------------------------------------------------------------------


def live(probe, name: str, source: str, arguments: list[str], data: dict) -> str:
    """The life of a script in a rank, watched by `probe`: of `probes.script` or of `probes.ddp`."""
    folders = Folders(Path.cwd(), probe.rank, probe.shared)
    script = folders.own / name
    script.write_text(source, encoding="utf-8")
    np.savez(folders.data / "mnist.npz", **data)
    words = [str(folders.data / "mnist.npz") if word == "DATA" else word for word in arguments]
    main = _become(script, words)
    stderr, sys.stderr = sys.stderr, open(os.devnull, "w")  # warnings of libraries; what the script says goes to stdout
    files = FileWatch(folders, probe.note)
    probe.install(data)
    probe.initialise()
    how = "raised"
    try:
        code = compile(source, name, "exec")
        _show_lines(name, source)
        exec(code, main.__dict__)
        how = "returned"
    except SystemExit as left:
        how = "returned" if left.code in (None, 0) else "left"
        if how == "left":
            raise SystemExit(f"exit status {str(left.code)[:200]}") from None
    finally:
        files.on = False
        sys.stderr = stderr
        sys.stdout.finish()
        log = arguments[arguments.index("--log") + 1] if "--log" in arguments else ""
        probe.end(how, files.written(), files.text_of(log))
    return how


def _become(script: Path, words: list[str]) -> types.ModuleType:
    """This process as `python script words...` would find itself; returns the module in which the script is to run."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=str(script), __builtins__=__builtins__)
    sys.modules["__main__"], sys.argv = main, [str(script), *words]
    sys.path.insert(0, str(script.parent))
    os.chdir(script.parent)
    return main


def _show_lines(name: str, source: str) -> None:
    """Registers the script's lines under its name, where tracebacks and AutoGraph look for them."""
    import linecache

    linecache.cache[name] = (len(source), None, [line + "\n" for line in source.split("\n")], name)


class Folders:
    """The place where a rank works: a folder of its own, so that what it writes is known to be its; data and temporary
    files lie elsewhere."""

    def __init__(self, base: Path, rank: int, shared: bool):
        self.base = base.resolve()
        self.own = self.base / ("all-ranks" if shared else f"rank-{rank}")
        self.home, self.scratch, self.data = (self.base / f"{name}-{rank}" for name in ("home", "scratch", "data"))
        for folder in (self.own, self.home, self.scratch, self.data):
            folder.mkdir(exist_ok=True)
        os.environ.update(HOME=str(self.home), TMPDIR=str(self.scratch), MPLCONFIGDIR=str(self.scratch / "matplotlib"))
        tempfile.tempdir = str(self.scratch)


class FileWatch:
    """Watch which files the script writes, and which it looks for where it has nothing to look for."""

    _OWN = ("/usr/", "/lib", "/etc/", "/dev/", "/proc/", "/sys/", "/opt/", "/bin/", "/run/")

    def __init__(self, folders: Folders, note):
        self.folders, self.on = folders, True
        self._note, self._opened, self._outside = note, set(), set()
        self._before = self._now()
        self._reading = tuple(
            os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, str(folders.base), *sys.path) if path
        )
        self._reading += (sys.prefix, sys.base_prefix)
        sys.dont_write_bytecode = True  # Python writes it for itself: it is none of the script's files
        sys.addaudithook(self._look)

    def _look(self, event: str, arguments: tuple) -> None:
        if not self.on or event not in ("open", "os.listdir", "os.scandir"):
            return
        path = arguments[0]
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        try:
            path = os.path.abspath(os.fsdecode(path))
        except ValueError:
            return
        if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            if len(self._opened) < MOST_FILES and not path.startswith(("/dev/", "/proc/", *self._elsewhere())):
                self._opened.add(path)
        elif (
            len(self._outside) < 5
            and not path.startswith((*self._OWN, *self._reading))
            and path not in ("/", *self._outside)
        ):
            self._outside.add(path)
            self._note({"saw": "outside", "path": path[:200]})

    def _elsewhere(self) -> tuple[str, ...]:
        """The folders, as prefixes of paths, in which libraries write for their own use."""
        return str(self.folders.scratch), str(self.folders.data), str(self.folders.home / ".")

    def _now(self) -> dict[str, tuple]:
        found = {}
        for folder in (self.folders.own, self.folders.home):
            for path, names, files in os.walk(folder):
                hidden = folder == self.folders.own  # what libraries hide is at home
                names[:] = [name for name in names if (hidden or name[0] != ".") and name != "__pycache__"]
                for name in files:
                    if len(found) < 10 * MOST_FILES and (hidden or name[0] != "."):
                        full = os.path.join(path, name)
                        status = os.lstat(full)
                        found[full] = (status.st_mtime_ns, status.st_size)
        return found

    def written(self) -> list[str]:
        """The files that are new or changed in the rank's own folder, and those that were opened to be written
        elsewhere."""
        own = str(self.folders.own)
        try:
            after = self._now()
        except OSError:
            after = {}
        paths = {path for path, how in after.items() if self._before.get(path) != how}
        if self.folders.own.name == "all-ranks":
            paths = {path for path in paths if path in self._opened}
        paths |= {path for path in self._opened if not path.startswith(own + os.sep)}
        return sorted(os.path.relpath(path, own) if path.startswith(own + os.sep) else path for path in paths)[
            :MOST_FILES
        ]

    def text_of(self, name: str) -> str | None:
        """The text of the file that the script was told to log into, or of one that looks like a table of metrics."""
        candidates = [self.folders.own / name] if name else []
        candidates += sorted(self.folders.own.glob("**/*.jsonl")) + sorted(self.folders.own.glob("**/metrics*.dat"))
        for path in candidates[:20]:
            try:
                if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST_LOG:
                    return path.name + "\n" + path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
        return None


# -- where it takes its images from, and what it can be asked ----------------------------------------------------------


def see_course_data(data: dict) -> None:
    """`labkit.data` gives these images, whatever it is asked for."""
    from labkit import data as course_data

    def load(name="digits", train=True, n=None):
        part = "train" if train else "test"
        return data[f"x_{part}"][:n].copy(), data[f"y_{part}"][:n].astype(np.int64)

    course_data.load = load


def see_options(note) -> None:
    """Note the options of the script's command line that are about a warm-up."""
    import argparse

    parse = argparse.ArgumentParser.parse_known_args

    def parse_known_args(self, *arguments, **named):
        for action in self._actions:
            if any(word in option.lower() for option in action.option_strings for word in _OPTIONS):
                takes = "nothing" if action.nargs == 0 else "number"
                kind = getattr(action.type, "__name__", "str")
                default = action.default if isinstance(action.default, (int, float, str, bool)) else None
                about = {"option": max(action.option_strings, key=len), "takes": takes, "type": kind}
                note({"saw": "option", **about, "default": default})
        return parse(self, *arguments, **named)

    argparse.ArgumentParser.parse_known_args = parse_known_args


def gpu_of(index: int) -> int:
    """The number on the machine of a GPU that this process counts as `index`: CUDA_VISIBLE_DEVICES may name some."""
    visible = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one.strip().isdigit()]
    return int(visible[index]) if 0 <= index < len(visible) else index
