"""SNOMED CT and LOINC by files of the form of their releases, with concepts that have several parents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidData, InvalidJob, run
from engine.hierarchy.builders.concepts import SnomedCt

HEADER = (
    "id\teffectiveTime\tactive\tmoduleId\tsourceId\tdestinationId\trelationshipGroup\ttypeId\tcharacteristicTypeId\t"
    "modifierId\n"
)


def relationships(pairs, inactive=(), others=()):
    """Write is-a relationships, those no longer active, and those of another kind, as RF2 has them."""
    rows = [(*pair, "1", "116680003") for pair in pairs]
    rows += [(*pair, "0", "116680003") for pair in inactive]
    rows += [(*pair, "1", "363698007") for pair in others]
    return HEADER + "".join(
        f"{number}\t20260101\t{active}\t900000000000207008\t{below}\t{above}\t0\t{kind}\t900000000000011006\t"
        "900000000000451002\n"
        for number, (below, above, active, kind) in enumerate(rows)
    )


# 1 the root; 73 is below 52, three steps deep, and below 22, which is two steps deep: the shorter way is taken
PAIRS = [("11", "1"), ("12", "1"), ("21", "11"), ("22", "12"), ("31", "21"), ("52", "31"), ("73", "52"), ("73", "22")]
SNOMED = relationships(PAIRS, inactive=[("73", "1")], others=[("52", "12")])
LOINC = (
    '"PATH_TO_ROOT","SEQUENCE","IMMEDIATE_PARENT","CODE","CODE_TEXT"\n'
    '"","1","","LP29693-6","Laboratory"\n'
    '"LP29693-6","1","LP29693-6","LP7819-8","Microbiology, ""all"" of it"\n'
    '"LP29693-6","2","LP29693-6","LP7786-9","Chemistry"\n'
    '"LP29693-6.LP7786-9","1","LP7786-9","LP14082-9","Glucose"\n'
    '"LP29693-6.LP7786-9.LP14082-9","1","LP14082-9","2345-7","Glucose [Mass/volume] in Serum"\n'
    '"LP29693-6.LP7819-8","1","LP7819-8","600-7","Bacteria identified in Blood"\n'
    '"LP29693-6.LP7786-9","2","LP7786-9","600-7","Bacteria identified in Blood"\n'
)


@pytest.fixture
def snomed(build, tmp_path):
    (tmp_path / "snapshot.txt").write_text(SNOMED)
    return build(builder="snomed-ct", path=str(tmp_path / "snapshot.txt"), depths=[3, 2, 1])


def test_ancestors_along_the_shortest_way(snomed, rows_of):
    assert rows_of(snomed, ["73", "52", "11", "1", "99", ""]) == [
        ("73", "73", "22", "12", "*"),
        ("52", "31", "21", "11", "*"),
        ("11", "11", "11", "11", "*"),
        ("1", "1", "1", "1", "*"),
    ]


def test_labels_are_concepts_that_are_not_too_deep(snomed):
    assert snomed.is_label("73", 1)
    assert not snomed.is_label("73", 2)
    assert not snomed.is_label("52", 1)
    assert snomed.is_label("52", 0)
    assert snomed.is_label("*", 4)
    assert not any(snomed.is_label(text, level) for text in ("99", "*", "") for level in range(4))


def test_loinc_takes_the_first_of_two_parents_that_are_as_near(build, rows_of, tmp_path):
    (tmp_path / "hierarchy.csv").write_text(LOINC)
    loinc = build(builder="loinc", path=str(tmp_path / "hierarchy.csv"), depths=[2, 1])
    assert rows_of(loinc, ["2345-7", "600-7", "LP7819-8", "1-1"]) == [
        ("2345-7", "LP14082-9", "LP7786-9", "*"),
        ("600-7", "600-7", "LP7786-9", "*"),
        ("LP7819-8", "LP7819-8", "LP7819-8", "*"),
    ]


@given(
    links=st.lists(st.tuples(st.integers(2, 30), st.integers(1, 29)).filter(lambda one: one[0] > one[1]), min_size=1),
    depths=st.sets(st.integers(1, 6), min_size=1, max_size=3).map(lambda found: sorted(found, reverse=True)),
)
def test_each_label_is_an_ancestor_or_the_concept_at_its_least_depth(tmp_path_factory, links, depths):
    """Against the shortest ways that a search from each concept upwards finds."""
    path = tmp_path_factory.mktemp("tree") / "snapshot.txt"
    path.write_text(relationships([(str(low), str(high)) for low, high in links]))
    above = {}
    for low, high in links:
        above.setdefault(low, set()).add(high)

    def depth_of(concept):
        return 1 + min(map(depth_of, above[concept])) if concept in above else 0

    def ancestors(concept):
        return {concept}.union(*map(ancestors, above.get(concept, ())))

    concepts = sorted({concept for link in links for concept in link})
    rows = SnomedCt(path=str(path), depths=depths).rows([*map(str, concepts)])
    for concept, row in zip(concepts, rows, strict=True):
        for depth, label in zip(depths, row[1:-1], strict=True):
            assert int(label) in ancestors(concept)
            assert depth_of(int(label)) == min(depth, depth_of(concept))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEADER, "has no concept without a parent"),
        (relationships([("1", "2"), ("2", "1")]), "has no concept without a parent"),
        (relationships([("3", "9"), ("1", "2"), ("2", "1")]), "2 concepts are below each other in a circle"),
        (relationships(PAIRS) + relationships(PAIRS[:1])[len(HEADER) :], "several states of one relationship"),
        (LOINC, "needs the columns id, active, sourceId, destinationId, typeId"),
        ("", "cannot be read as UTF-8 text"),
        (HEADER + "1\t2\n", "cannot be read as UTF-8 text"),
    ],
)
def test_a_file_that_is_none(tmp_path, text, said):
    (tmp_path / "snapshot.txt").write_text(text)
    with pytest.raises(InvalidData, match=said):
        SnomedCt(path=str(tmp_path / "snapshot.txt")).rows(["1"])


def test_a_missing_file_and_depths_that_do_not_fall(build, tmp_path):
    with pytest.raises(InvalidJob, match="not found; the path is relative to the job file"):
        SnomedCt(path=str(tmp_path / "none.txt")).rows(["1"])
    with pytest.raises(InvalidJob, match=r"depths.1 is 3; it must be less than depths.0, 3"):
        build(builder="snomed-ct", path="x.txt", depths=[3, 3])


def test_a_release_has_the_labels(tmp_path):
    (tmp_path / "snapshot.txt").write_text(SNOMED)
    hierarchy = {"builder": "snomed-ct", "path": str(tmp_path / "snapshot.txt"), "depths": [2, 1]}
    job = {
        "name": "findings",
        "attributes": {"finding": {"role": "quasi-identifying", "hierarchy": hierarchy}},
        "privacy": [{"model": "k-anonymity", "k": 4}],
    }
    import pandas as pd  # noqa: PLC0415

    result = run(job, pd.DataFrame({"finding": ["73"] * 2 + ["22"] * 2 + ["52"] * 3 + ["31"]}))
    assert result.report["solution"]["levels"] == {"finding": 1}
    assert sorted(result.table["finding"].to_pylist()) == ["21"] * 4 + ["22"] * 4
