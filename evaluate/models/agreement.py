"""Whether two ways of computing logits agree, but for rounding."""

import torch

# Logits beyond are no scores but marks (the lowest number there is, for a token that cannot be), and no measure.
_MARK = 1e4


def agree(one: torch.Tensor, other: torch.Tensor, part: float) -> bool:
    """Whether logits are of one shape and apart by at most `part` of the largest of them; a mark by `part` of itself.

    Infinities and NaN agree with themselves. Where nothing is finite, nothing can be told, so they do not agree.
    """
    if one.shape != other.shape or not one.isfinite().any():
        return False
    one, other = one.detach().cpu().double(), other.detach().cpu().double()
    usual = (one.abs() <= _MARK) & (other.abs() <= _MARK)
    bound = part * float(one[usual].abs().max()) if usual.any() else 0.0
    alike = torch.allclose(one[usual], other[usual], rtol=0, atol=bound)
    return alike and torch.allclose(one[~usual], other[~usual], rtol=part, atol=0, equal_nan=True)
