"""Looking at single answers of a run, finished or under way, without changing anything of it."""
