"""The engine for Dask collections: one engine per part of the rows, joined by addition."""
