"""One submission: read, rebuilt, judged, and written out with its cards."""
