"""Stands in for SGLang: the functions that the adapter calls, which check how they are called."""

__version__ = "stand-in"
