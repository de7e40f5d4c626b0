"""Simulation-based calibration of the posterior.

Parameters are drawn from the prior and answers from the parameters, both with numpy directly
from the equations of the documentation; the model is fitted to the answers with the shipped
sampler. If prior, likelihood and sampler are correct, the rank of the true value among the
posterior draws is uniform (Talts et al. 2018). The simulation shares no code with the
kernel, the PyMC model or the derived quantities.
"""
