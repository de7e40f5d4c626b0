"""The analysis spec: formulas, priors, and the cells of the data bound to them."""
