"""Readings of an answer that several exercises share."""
