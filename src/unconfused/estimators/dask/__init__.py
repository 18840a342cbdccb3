"""Estimators on Dask collections: labels, votes and rows that live on workers."""
