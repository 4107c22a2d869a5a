"""Programs that the grader runs in the jail beside a student's files. They hold no answer and import labkit only."""
