"""The ported training script, run and judged."""
