"""Chance that depends on nothing but what it is asked for: neither on the order of rows nor on how files are cut."""

import hashlib

__all__ = ["lot"]


def lot(seed: int, *what: str, size: int = 8) -> int:
    """A number of `size` bytes, from 0, for a seed and words such as a config and an id."""
    told = "\0".join([str(seed), *what]).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(told, digest_size=size).digest())
