"""The figures of descriptors."""

from senseprobe.kinds.descriptor.differences import DIFFERENCES, PUBLISHED
from senseprobe.kinds.descriptor.spread import SPREAD

ESTIMANDS = (DIFFERENCES, PUBLISHED, SPREAD)
