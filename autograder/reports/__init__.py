"""What an instructor sees: report, marks, exports, copies."""
