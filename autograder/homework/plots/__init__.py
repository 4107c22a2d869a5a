"""The accuracy plots, judged."""
