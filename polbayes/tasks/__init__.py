"""What else can be done, one folder a task."""
