"""Even-handedness: paired requests, answered by respondents and compared by judges."""
