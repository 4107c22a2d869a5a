"""`nbgrader collect`, with care: what students put into the exchange is copied as it lies there, and no link in it is
followed.

nbgrader copies what a link leads to, with the rights of whoever collects: a key, a solution, another student's answer
would arrive in submitted/ as an ordinary file of the student who made the link. Here links stay out, and so do pipes,
devices and whatever is too large; a submission that is a link itself is not collected at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from nbgrader.exchange.default.collect import ExchangeCollect

from autograder.grading.submission import reading


class Collect(ExchangeCollect):
    """nbgrader's own, but for the copying."""

    def init_src(self) -> None:
        """Find what is to be collected, and leave out submissions that are links or no folders."""
        super().init_src()
        taken = []
        for record in self.src_records:
            path = os.path.join(self.inbound_path, record["filename"])
            if os.path.islink(path) or not os.path.isdir(path):
                self.log.error("%s is a link, or no folder: it was not collected; cheating attempt?", path)
            else:
                taken.append(record)
        self.src_records = taken

    def do_copy(self, src: str, dest: str, log: bool | None = None) -> None:
        """Copy a submission without what `autograder.grading.submission.reading.odd_files` finds in it: first to a
        folder of our own, where nobody can exchange a file for a link any more, and from there as nbgrader does
        it."""
        odd = {str(path) for path in reading.odd_files(Path(src))}
        for path in sorted(odd):
            self.log.warning("%s is a link, no ordinary file, or too large: it was left out", path)

        def left_out(folder: str, names: list[str]) -> set[str]:
            return {name for name in names if os.path.join(folder, name) in odd}

        with tempfile.TemporaryDirectory(prefix=".collecting-", dir=os.path.dirname(dest)) as place:
            copy = os.path.join(place, "submission")
            try:
                shutil.copytree(src, copy, symlinks=True, ignore=left_out)
                for path in reading.odd_files(Path(copy)):  # what has become a link since it was looked at
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                super().do_copy(copy, dest, log)
            except (OSError, shutil.Error, RuntimeError) as error:
                # One submission does not keep the others from being collected.
                self.log.error("%s could not be collected: %s", src, error)
                shutil.rmtree(dest, ignore_errors=True)
