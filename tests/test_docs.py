"""What the documents name exists: files, folders, and the headings that links point to."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine import load_job
from tests.places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
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


def links_of(document: Path) -> list[str]:
    """Return the links that lead to files of the project."""
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")) if "://" not in link]


def site() -> dict[str, Any]:
    return tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]


def in_navigation(part: Any) -> Iterator[str]:
    """Yield the pages of a part of the navigation, which nests titles and lists."""
    if isinstance(part, str):
        yield part
    else:
        for below in part.values() if isinstance(part, dict) else part:
            yield from in_navigation(below)


def test_each_page_is_in_the_navigation_of_the_site_once():
    assert sorted(in_navigation(site()["nav"])) == sorted(path.relative_to(DOCS).as_posix() for path in PAGES)


def test_each_reader_has_a_page_to_begin_with_that_the_readme_names():
    parts = {title: list(in_navigation(pages)) for part in site()["nav"] for title, pages in part.items()}
    for reader in ("Engineers", "Custodians", "Researchers", "Auditors"):
        begin = f"for-{reader.lower()}.md"
        assert parts[reader][0] == begin
        assert begin in links_of(DOCS / "index.md")
        assert f"docs/{begin}" in links_of(ROOT / "README.md")


def test_a_word_is_found_by_its_place_in_the_alphabet():
    rows = re.findall(r"^\| (.+?) \| ", (DOCS / "words.md").read_text(encoding="utf-8"), re.MULTILINE)[2:]
    words = [row.replace("`", "").casefold() for row in rows]
    assert len(words) > 40
    assert words == sorted(words)


def test_each_picture_is_shown():
    shown = {link for document in DOCUMENTS for link in links_of(document)}
    names_shown = {Path(link).name for link in shown}
    assert {path.name for path in (DOCS / "images").iterdir()} - names_shown == set()


def test_the_site_asks_no_other_server():
    """Zensical takes fonts from another server unless it is told not to."""
    assert site()["theme"]["font"] is False
    assert "://" not in (ROOT / "zensical.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", PAGES, ids=names(PAGES))
def test_links_of_pages_stay_in_the_site(document):
    outside = [
        link for link in links_of(document) if not (document.parent / link).resolve().is_relative_to(ROOT / "docs")
    ]
    assert outside == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_links_resolve(document):
    for link in links_of(document):
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


def test_the_job_file_of_the_readme_names_all_columns_of_the_demo():
    """The README promises a complete job file, and a column of the table that it does not name ends the run."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (written,) = [
        code for code in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if "name: " in code
    ]
    shipped = yaml.safe_load((ROOT / "dags/jobs/hospital_stays.yaml").read_text(encoding="utf-8"))
    document = yaml.safe_load(written)
    load_job(document)
    assert document["source"] == shipped["source"]
    assert set(document["attributes"]) == set(shipped["attributes"])


def test_anchors(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A `word`, and (1)\n```\n# no heading\n```\n## models-that: don't\n", encoding="utf-8")
    assert anchors(page) == {"a-word-and-1", "models-that-dont"}
