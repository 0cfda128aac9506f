"""The Gaussian process: kernels, priors, fit, posterior."""
