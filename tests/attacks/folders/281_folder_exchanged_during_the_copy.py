# by: nbgrader collect
# must not: copy a rival's work from a folder that becomes a link while its neighbours are copied
# comes: as it is
import os
import sys


def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    for name in ("first.py", "second.py", "third.py"):
        (folder / name).write_text("x = 1\n")
    (folder / "data").mkdir()
    (folder / "data" / "helper.py").touch()
    rival = place.rival
    waits = [True]

    def swap(event, given):
        """As a process would that waits for the first file to be opened (inotify)."""
        name = os.path.basename(os.fsdecode(given[0])) if event == "open" and isinstance(given[0], (str, bytes)) else ""
        if waits and name in ("first.py", "second.py", "third.py"):
            waits.clear()
            os.rename(folder / "data", folder.parent / ".away")
            os.symlink(rival, folder / "data")

    sys.addaudithook(swap)
