"""The response dataset and its files."""
