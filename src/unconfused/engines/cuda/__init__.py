"""Kernels for torch arrays on CUDA devices; imported only where such rows are met."""
