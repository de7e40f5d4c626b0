"""Tools of this checkout, which are not in the wheel."""
