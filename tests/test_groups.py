"""What `--groups` means, and what groups do to a mean."""

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.groups import design_effect, group_codes, join_groups, resolve_groups
from heldout.independence.dependence import check_groups_apart


def test_names_do_not_matter():
    by_name, by_number = group_codes(["x", "y", "x"], 3), group_codes([7, 9, 7], 3)
    assert (by_name[0] == by_name[2]) == (by_number[0] == by_number[2])
    assert len(set(by_name)) == len(set(by_number)) == 2


@pytest.mark.parametrize("bad", [[1, 2], ["a", "", "b"], ["a", None, "b"], [1.0, np.nan, 2.0], [["a"], ["b"], ["c"]]])
def test_missing_groups_are_refused(bad):
    with pytest.raises(InputError, match="groups"):
        group_codes(bad, 3)


@pytest.mark.parametrize("bad", [["g0", "g0 ", "g1"], ["a", "b\t", "b"], np.array([" a", "a", "b"], dtype=object)])
def test_names_that_differ_in_blanks_alone_are_refused(bad):
    """They made every example a group of its own, unseen."""
    with pytest.raises(InputError, match="blanks around them alone; write them alike if they are one group"):
        group_codes(bad, 3)
    assert group_codes([f"{name} " for name in "aab"], 3).tolist() == [0, 0, 1]  # all alike: one spelling


def test_a_group_in_both_sets_is_found_whatever_its_blanks():
    with pytest.raises(InputError, match=r"1 group of `groups` \('a'\) is in both"):
        check_groups_apart(["a", "b"], ["a ", "c"])


def test_a_file_a_column_or_a_pattern(tmp_path):
    ids = ["v1/a.png", "v1/b.png", "v2/a.png"]
    table = tmp_path / "groups.csv"
    table.write_text("id,group\nv2/a.png,second\nv1/a.png,first\nv1/b.png,first\n")
    from_csv = resolve_groups(str(table), ids, {})
    from_column = resolve_groups("video", ids, {"video": [1, 1, 2]})
    from_pattern = resolve_groups("^[^/]+", ids, {})
    assert [g.tolist() for g in (from_csv, from_column, from_pattern)] == [
        ["first", "first", "second"],
        [1, 1, 2],
        ["v1", "v1", "v2"],
    ]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("patient", "neither a file"),
        ("(unclosed", "regular expression"),
        (r"^w(\d)", "finds no group"),
        (r"^v", "into one"),
    ],
)
def test_specs_that_mean_nothing_are_refused(spec, words):
    with pytest.raises(InputError, match=words):
        resolve_groups(spec, ["v1/a.png", "v2/a.png"], {})


def test_tables_that_lack_or_contradict_are_refused(tmp_path):
    table = tmp_path / "groups.csv"
    table.write_text("id,group\na,1\n")
    with pytest.raises(InputError, match="1 of 2 examples"):
        resolve_groups(str(table), ["a", "b"], {})
    table.write_text("id,group\na,1\na,2\nb,1\n")
    with pytest.raises(InputError, match="two groups"):
        resolve_groups(str(table), ["a", "b"], {})


def test_joined_groups_against_brute_force(rng):
    for _ in range(20):
        codes = [group_codes(rng.integers(0, 8, 12), 12) for _ in range(2)]
        joined = join_groups(*codes)
        together = np.eye(12, dtype=bool)
        for c in codes:
            together |= c[:, None] == c[None, :]
        for _ in range(12):  # transitive closure
            together = together @ together
        assert np.array_equal(joined[:, None] == joined[None, :], together)


def test_design_effect_is_the_ratio_of_variances(rng):
    codes = np.repeat(np.arange(40), 5)
    reps = 4000
    shared = rng.normal(size=(reps, 40))[:, codes]
    x = np.sqrt(0.5) * shared + np.sqrt(0.5) * rng.normal(size=(reps, 200))
    claimed = np.mean([design_effect(row, codes) for row in x[:500]])
    measured = x.mean(axis=1).var() / (1.0 / 200)
    assert claimed == pytest.approx(1 + 4 * 0.5, rel=0.1)
    assert measured == pytest.approx(3.0, rel=0.1)
    assert design_effect(x[0], np.arange(200)) == pytest.approx(1.0)
