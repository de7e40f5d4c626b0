"""The figures of a report, one per file: ``plot_*(table, *, ...)`` from a tidy table."""
