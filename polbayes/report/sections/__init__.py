"""The sections of a report, one file each: from `Results` to a `Section` or None."""
