"""The instructor's views of a class: report, marks, exports, copies."""
