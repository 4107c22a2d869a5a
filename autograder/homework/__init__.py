"""The homeworks: what a student hands in as files, judged by what the files and runs show.

    report = homework.judge(Path("submitted/ada/scaling_mnist"), jail=isolation.spec())
    report.score, report.max_score, report.needs_person

`registry` knows all of them; an `assignment.Assignment` holds everything that differs between them. `rubric` has the
types of a verdict; `folder` finds the files; `handed_in` packs them for a worker; `judging` asks the judges and `page`
shows what they say. What a part cannot judge, a person does: no trouble of the grader's costs a student anything.

The first homework, `scaling_mnist`, is `mnist`, its lines `mnist_rubric`, its judges `port`, `scaling` and `plots`.

To enter another one: a package with its `rubric.Rubric` (parts and lines; the part "bonus" is on top), its judges and
its `assignment.Assignment`; one more name in `registry.ASSIGNMENTS`. A judge gets an `assignment.JudgeRequest` and
returns a `PartResult` with a finding for each line of its parts, made by the rubric (`full`, `lost`, `needs_person`);
it is imported where it is called, so that a notebook's first check costs little. Its notebook has cells
`check_homework("PART")` with the points of the part, and 0 for "bonus"; a notebook that shares all parts' names with
another homework's is told apart by the assignment's name. Its finished work is named in the
unit.toml of its room (`not_released`, `products`).
"""

from autograder.homework import page
from autograder.homework.judging import judge, judge_files

__all__ = ["judge", "judge_files", "page"]
