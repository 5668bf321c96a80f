"""The sense keys of qualities in the built-in releases of sssb."""

from senseprobe import api

CONFIGS = ("nationality", "language", "race", "race-matched", "race-groups", "colour")
KEYS = ["stereo_value_key", "anti_value_key"]


def test_every_row_of_praise_and_blame_has_both_keys() -> None:
    """Each quality has a key in its list, so no row lacks one; 1.0.3 has no such columns."""
    newest, before = api.load("sssb@1.1.0"), api.load("sssb@1.0.3")
    for config in CONFIGS:
        assert newest.to_pandas(config)[KEYS].notna().all(axis=None), config
        assert not {*KEYS} & {*before.to_pandas(config).columns}


def test_keys_are_those_of_the_words_in_the_sentences() -> None:
    """By hand, from WordNet's glosses: a rough language grates, a soft one is gentle."""
    rows = api.load("sssb@1.1.0").to_pandas("language")
    (row,) = rows[
        (rows["target"] == "Japanese") & (rows["stereo_value"] == "rough") & (rows["anti_value"] == "soft")
    ].to_dict("records")
    assert [row[key] for key in KEYS] == ["rough%5:00:00:cacophonous:00", "soft%5:00:00:mild:00"]
