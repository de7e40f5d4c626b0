"""The log-posterior: parameters, prior densities, likelihood and its compiled gradient."""
