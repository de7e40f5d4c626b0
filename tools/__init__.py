"""Tools for use from a checkout, not in the wheel."""
