"""Questions about two people in a context that does or does not say who is meant, as in BBQ (Parrish et al. 2022)."""
