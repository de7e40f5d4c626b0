"""Sampling the posterior, and whether the draws can be used."""
