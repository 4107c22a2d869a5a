"""python -m bank_mesh DIR [NAME ...]: writes homework folders to look at; folders of these names in DIR are
replaced.
"""

import shutil
import sys
from pathlib import Path

from bank_mesh.folders import FOLDERS

for name in sys.argv[2:] or FOLDERS:
    shutil.rmtree(Path(sys.argv[1]) / name, ignore_errors=True)
    print(FOLDERS[name].make(Path(sys.argv[1]) / name), flush=True)
