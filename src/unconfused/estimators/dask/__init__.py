"""Estimators on Dask collections: labels and rows that live on workers."""
