"""Rows without a partner: a descriptor of people in a sentence, which is compared with the others of its axis.

::

    kind         what a template declares, the columns of rows, what a scorer gets
    checks       what `senseprobe lint` finds in them
    tables       scores by descriptor, template and noun
    differences  the share of pairs of descriptors that differ
    spread       how far the descriptors of an axis are apart
    sections     the chart of descriptors within an axis
    holistic     `senseprobe import holistic-bias`
"""
