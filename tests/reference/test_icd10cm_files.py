"""The ICD-10-CM hierarchy against the files of CMS and CDC themselves, read without the package's code."""

from __future__ import annotations

import importlib.resources
import re
from xml.etree import ElementTree as ET

import pytest

from engine.hierarchy.builders.icd10cm import Icd10Cm


@pytest.fixture(scope="module")
def files():
    """Text of the tabular list and of the list of everything that has a code."""
    folder = importlib.resources.files("simple_icd_10_cm.data")
    (tabular,) = [file for file in folder.iterdir() if file.name.endswith(".xml")]
    (codes,) = [file for file in folder.iterdir() if file.name.endswith(".txt")]
    return tabular.read_text(encoding="utf-8"), codes.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows():
    return {row[0]: row for row in Icd10Cm().rows([])}


@pytest.mark.slow
def test_leaves_are_the_categories_and_subcategories_of_the_list(files, rows):
    """The list also holds chapters, which are numbers, and blocks, which are ranges or bear a category's name."""
    listed = {line.split()[0] for line in files[1].splitlines() if line.strip()}
    assert {leaf.replace(".", "") for leaf in rows} == {
        code for code in listed if re.fullmatch(r"[A-Z][0-9A-Z]{2,6}", code)
    }


@pytest.mark.slow
def test_categories_are_in_the_block_and_chapter_of_the_tabular_list(files, rows):
    expected = {}
    for chapter in ET.fromstring(files[0]).iter("chapter"):  # noqa: S314 (a file of an installed package)
        for section in chapter.iter("section"):
            name = section.attrib["id"]
            block = name if "-" in name else f"{name}-{name}"
            for category in section.findall("diag"):
                expected[category.findtext("name")] = (block, f"chapter {chapter.findtext('name')}")
    assert {leaf: row[2:4] for leaf, row in rows.items() if len(leaf) == 3} == expected
    assert all(row[2:4] == expected[leaf[:3]] for leaf, row in rows.items())
