"""The figures of a report, one file each: ``plot_*(table, *, ...)`` from a tidy table."""
