"""Reads users' own copies of published benchmarks, each format in a module, and plans releases of them."""
