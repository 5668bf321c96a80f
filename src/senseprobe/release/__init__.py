"""Frozen datasets: written once, identified three ways, verified for ever."""
