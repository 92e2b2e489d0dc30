"""docs/audit.md has the states and the banners of the pages in their own words."""

from __future__ import annotations

import re

from airflow_anon.plugin.pages.outline import STATES
from tests.places import ROOT

TEMPLATES = ROOT / "airflow_anon" / "plugin" / "templates"


def first_cells(heading: str) -> list[str]:
    """Return the first column of the table below a header row of docs/audit.md."""
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    table = page[page.index(f"| {heading} |") :].split("\n\n")[0]
    return [line.split("|")[1].strip() for line in table.splitlines()[2:]]


def test_states():
    assert sorted(first_cells("state")) == sorted(STATES.values())


def test_banners():
    pages = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("macros.html", "release.html"))
    told = re.findall(r'banner-broken"[^\n]*?<strong>([A-Z][^{<]*)\.</strong>', pages)
    assert sorted(first_cells("banner")) == sorted(told)
