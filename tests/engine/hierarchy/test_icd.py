"""ICD-10 (WHO), ICD-10-GM and ICD-9-CM: categories, chapters, and the blocks of a release file."""

from __future__ import annotations

import pytest

from engine import InvalidJob, load_job
from engine.errors import InvalidData
from engine.hierarchy.hierarchy import Hierarchy


@pytest.mark.parametrize(
    ("builder", "code", "labels"),
    [
        ("icd-10", "E11.6", ("E11.6", "E11", "chapter 4")),
        ("icd-10", "E116", ("E11.6", "E11", "chapter 4")),
        ("icd-10", "D48", ("D48", "D48", "chapter 2")),
        ("icd-10", "D50.0", ("D50.0", "D50", "chapter 3")),
        ("icd-10", "H59.9", ("H59.9", "H59", "chapter 7")),
        ("icd-10", "H60", ("H60", "H60", "chapter 8")),
        ("icd-10", "T98.3", ("T98.3", "T98", "chapter 19")),
        ("icd-10", "U07.1", ("U07.1", "U07", "chapter 22")),
        ("icd-10-gm", "E11.60", ("E11.6", "E11", "chapter 4")),
        ("icd-10-gm", "G63.2*", ("G63.2", "G63", "chapter 6")),
        ("icd-10-gm", "S72.01", ("S72.0", "S72", "chapter 19")),
        ("icd-10-gm", "E11.-", ("E11", "E11", "chapter 4")),
        ("icd-9-cm", "250.02", ("250.0", "250", "chapter 3")),
        ("icd-9-cm", "25002", ("250.0", "250", "chapter 3")),
        ("icd-9-cm", "V30.00", ("V30.0", "V30", "chapter 18")),
        ("icd-9-cm", "E812.0", ("E812.0", "E812", "chapter 19")),
        ("icd-9-cm", "0010", ("001.0", "001", "chapter 1")),
    ],
)
def test_the_units_of_a_code(build, rows_of, builder, code, labels):
    made = build(builder=builder, levels=["subcategory-4", "category", "chapter"])
    assert rows_of(made, [code, "none", "E", "*"]) == [(code, *labels, "*")]


def test_chapters_agree_with_those_of_icd_10_cm(build):
    """The clinical modification has the chapters of the WHO, but for D49 and the codes U, which it counts otherwise."""
    made = build(builder="icd-10", levels=["chapter"])
    import simple_icd_10_cm  # noqa: PLC0415 (reads 10 MB of XML)

    codes = [code for code in dict.fromkeys(simple_icd_10_cm.get_all_codes()) if simple_icd_10_cm.is_category(code)]
    plain = [code for code in codes if code[1:].isdigit() and code != "D49"]
    found = {row[0]: row[1] for row in made.rows(plain)}
    assert len(found) == len(plain) > 1500
    for code in plain:
        assert found[code] == f"chapter {simple_icd_10_cm.get_ancestors(code)[-1]}", code


@pytest.fixture
def blocks(tmp_path):
    path = tmp_path / "gruppen.txt"
    path.write_text("A00;A09;01;Infektiöse Darmkrankheiten\nE10;E14;04;Diabetes mellitus\n\n# none\nI10;I15;09;x\n")
    return path


def test_blocks_come_from_the_file_of_a_release(build, rows_of, blocks):
    made = build(builder="icd-10-gm", levels=["category", "block", "chapter"], blocks=str(blocks))
    assert rows_of(made, ["E11.60", "I10.00", "C50.1"]) == [
        ("E11.60", "E11", "E10-E14", "chapter 4", "*"),
        ("I10.00", "I10", "I10-I15", "chapter 9", "*"),
    ]
    assert not made.is_label("E10-E15", 2)


def test_the_path_is_relative_to_the_job_file(blocks):
    hierarchy = {"builder": "icd-10", "levels": ["block"], "blocks": "gruppen.txt"}
    (blocks.parent / "job.yaml").write_text(
        "name: x\nattributes: {dx: {role: quasi-identifying, hierarchy: "
        f"{hierarchy}}}}}\nprivacy: [{{model: k-anonymity, k: 2}}]\n".replace("'", '"')
    )
    job = load_job(blocks.parent / "job.yaml")
    assert job.attributes["dx"].hierarchy.rows(["E11"]) == [("E11", "E10-E14", "*")]
    assert str(blocks.parent) not in str(job)


@pytest.mark.parametrize(
    ("content", "text"),
    [("E10 E14\n", "line 1 must be first;last"), ("E14;E10\n", "line 1"), ("E10;E14\nE12;E16\n", "overlap at E12")],
)
def test_a_broken_file_of_blocks(build, tmp_path, content, text):
    (tmp_path / "b.txt").write_text(content)
    made = build(builder="icd-10", levels=["block"], blocks=str(tmp_path / "b.txt"))
    with pytest.raises(InvalidJob, match=text):
        made.rows(["E11"])


def test_a_missing_file_of_blocks(build):
    with pytest.raises(InvalidJob, match=r"nowhere.txt: cannot be read"):
        build(builder="icd-10", levels=["block"], blocks="nowhere.txt").rows(["E11"])


def test_a_block_in_two_chapters_is_refused(build, tmp_path):
    (tmp_path / "b.txt").write_text("D40;D60\n")
    made = build(builder="icd-10", levels=["block", "chapter"], blocks=str(tmp_path / "b.txt"))
    with pytest.raises(InvalidData, match="another parent"):
        Hierarchy("dx", made.rows(["D45", "D55"]))


@pytest.mark.parametrize("keys", [{"levels": ["block"]}, {"blocks": "b.txt"}, {"levels": ["chapter", "category"]}])
def test_settings_that_do_not_go_together(build, keys):
    with pytest.raises(InvalidJob, match=r"blocks|coarser"):
        build(builder="icd-9-cm", **keys)
