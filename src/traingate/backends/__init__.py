"""Where a plan can run."""
