"""nbgrader's `collect`, for an exchange that students can write to with more than `nbgrader submit`.

Who handed in is who owns the files, not what the folder is called. What is copied, and when it was handed in, is what
`autograder.grading.collecting` finds: files that this owner has written, no link to somebody else's work, which the
grader could read and which would come back in the feedback.
"""

from __future__ import annotations

from autograder.grading.collecting import Collect, account


class OwnWorkOnly(Collect):
    """Leaves out what was handed in under another account's name, whatever nbgrader is told of owners."""

    def not_the_students(self, record: dict) -> str:
        who = account(record["uid"])
        return "" if who == record["username"] else f"it was handed in by {who}, under another name"
