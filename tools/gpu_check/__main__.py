"""`python tools/gpu_check`: any Python that has torch."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
others = [folder for folder in sys.path if Path(folder or ".").resolve() != HERE]
sys.path[:] = [str(ROOT / "tools"), str(ROOT), *others]

from gpu_check import cli  # noqa: E402

if __name__ == "__main__":
    sys.exit(cli.main())
