"""Simulation-based calibration, which asks whether the posterior knows what it claims to know.

Parameters are drawn from the prior and answers from the parameters, both with numpy straight
from the equations of the documentation; the model is fitted to the answers with the shipped
sampler. Where prior, likelihood and sampler are right, the rank of the true value among the
posterior draws is uniform (Talts et al. 2018). Nothing that draws here shares code with the
kernel, the PyMC model or the read-out.
"""
