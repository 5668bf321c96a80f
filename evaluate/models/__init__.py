"""Models by family, each with the abilities that scorers ask for."""

from senseprobe.evaluate.models.masked import Encoding, MaskedLM, Query, load

__all__ = ["Encoding", "MaskedLM", "Query", "load"]
