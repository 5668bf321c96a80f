"""How much is tried: a few examples of each property in `make test`, all of them in `.ci/run`."""

from hypothesis import HealthCheck, settings

FEW = 25

# `ci` is Hypothesis's own: drawn from a fixed seed. No example is timed: machines differ, and stand still at times.
settings.register_profile(
    "dev",
    settings.get_profile("default"),
    max_examples=FEW,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dev")  # `pytest --hypothesis-profile ci` loads the other after this


def examples(most: int, few: int = FEW) -> int:
    """How many examples a property test draws: `most` in the profile `ci`, in `dev` no more than `few`."""
    return most if settings.get_current_profile_name() == "ci" else min(most, few)
