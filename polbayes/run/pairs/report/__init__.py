"""The report of a run on paired requests."""
