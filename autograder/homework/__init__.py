"""The homework: a port of a sequential script to Horovod, its scaling test and its plots, judged by what the files and
runs show.

    report = homework.judge(Path("submitted/ada/scaling_mnist"), jail=isolation.spec())
    report.score, report.max_score, report.needs_person

`rubric` has the points and the types of a verdict; `folder` finds the files; `port`, `scaling` and `plots` judge a part
each; `judging` puts them together and `page` shows them. What a part cannot judge, a person does: no trouble of the
grader's costs a student anything.
"""

from autograder.homework import page
from autograder.homework.judging import PARTS, judge, judge_files, read_logs

__all__ = ["PARTS", "judge", "judge_files", "page", "read_logs"]
