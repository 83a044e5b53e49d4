"""Stands in for torch: nothing of it is called on a CPU."""
