"""How well coders read: their codes compared with labels that humans gave."""
