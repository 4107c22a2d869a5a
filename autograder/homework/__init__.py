"""The homework: a port of a sequential script to Horovod, its scaling test and its plots, judged by what the files and runs show.

`rubric` has the points and the types of a verdict; `folder` finds the files; `port`, `scaling` and `plots` judge a part each; `report`
puts them together and `page` shows them. What a part cannot judge, a person does: no trouble of the grader's costs a student anything.
"""
