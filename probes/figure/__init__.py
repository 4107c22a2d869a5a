"""A figure read back from its PDF: its page, axes and curves."""
