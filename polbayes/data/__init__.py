"""The response dataset and the files it lives in."""
