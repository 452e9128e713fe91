"""Dialects, and the standard-library-only seams between the folders."""
