"""What the documents name exists: files, folders, and the headings that links point to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.places import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROOMS = "airflow_anon|benchmarks|dags|docker|docs|engine|tests"
MADE_LATER = "docker/secrets/"
"""Files that a command of the project makes are not in it."""


def names(documents: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in documents]


def anchors(document: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings: lower case, punctuation left out, spaces as hyphens."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_links_resolve(document):
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")) if "://" not in link]
    for link in links:
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_named_paths_exist(document):
    text = re.sub(r"\[[^\]]*\]\([^)]*\)", "", document.read_text(encoding="utf-8"))
    named = re.findall(rf"(?<![\w./-])(?:{ROOMS})/[\w./*-]*[\w/*]", text)
    missing = {path for path in named if not path.startswith(MADE_LATER) and not list(ROOT.glob(path.rstrip("/")))}
    assert not missing


def test_documents_that_the_code_names_exist():
    code = [path for room in ROOMS.split("|") for path in (ROOT / room).rglob("*.py")]
    named = {name for path in code for name in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text(encoding="utf-8"))}
    assert "docs/flow.md" in named
    assert {name for name in named if not (ROOT / name).is_file()} == set()


def test_anchors(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A `word`, and (1)\n```\n# no heading\n```\n## models-that: don't\n", encoding="utf-8")
    assert anchors(page) == {"a-word-and-1", "models-that-dont"}
