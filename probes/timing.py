"""Runs a whole training script in a rank, as it is and with nothing watching, and gives back the run log it wrote: to
time it.

For the homework's scaling test; `probes.script` is for looking at what a script does, and costs time.
"""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import numpy as np

LARGEST_LOG = 4 << 20  # bytes that are sent back


def run_script(name: str, source: str, arguments: list[str], data: dict) -> str:
    """Run it as `python name arguments...` would, in the rank's folder. data: arrays of the file DATA in the arguments
    (Keras's mnist.npz).

    Returns the text of the file behind `--log`, "" where this rank wrote none.
    """
    folder = Path.cwd() / f"rank{os.environ.get('HOROVOD_RANK', '0')}"
    folder.mkdir()
    os.chdir(folder)
    np.savez(folder / "mnist.npz", **data)
    script = folder / name
    script.write_text(source, encoding="utf-8")
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=str(script), __builtins__=__builtins__)
    sys.modules["__main__"], sys.argv = (
        main,
        [str(script), *(str(folder / "mnist.npz") if w == "DATA" else w for w in arguments)],
    )
    sys.path.insert(0, str(folder))
    stderr, sys.stderr = sys.stderr, open(os.devnull, "w")  # warnings of libraries
    try:
        exec(compile(source, name, "exec"), main.__dict__)
    except SystemExit as left:
        if left.code not in (None, 0):
            raise SystemExit(f"exit status {str(left.code)[:200]}") from None
    finally:
        sys.stderr = stderr
    log = folder / arguments[arguments.index("--log") + 1]
    if not log.is_file() or log.stat().st_size > LARGEST_LOG:
        return ""
    return log.read_text(encoding="utf-8", errors="replace")
