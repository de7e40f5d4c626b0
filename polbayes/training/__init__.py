"""Training of stance classifiers on labelled answers."""
