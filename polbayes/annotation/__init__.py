"""Labels by humans: a sample of answers for them, their agreement, and what they agree on."""
