"""A class: submissions read, rebuilt, judged, kept and written into nbgrader's gradebook."""
