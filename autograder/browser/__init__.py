"""Plain exercises judged in one process and without numpy, as a page of the site does it in the reader's browser."""
