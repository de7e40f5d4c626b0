"""polbayes: Bayesian measurement of the political leaning of language models."""

__version__ = "0.1.0"
