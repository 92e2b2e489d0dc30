"""No page and no JSON has a figure about fewer records than the smallest class allowed."""

from __future__ import annotations

import itertools
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_anon.plugin.pages import class_sizes as sizes_module
from airflow_anon.plugin.pages import comparison, measures
from airflow_anon.plugin.pages import criteria as criteria_module
from tests.airflow_anon.plugin.documents import released, typed, unreleased
from tests.airflow_anon.plugin.html import Page


def compared(document, before):
    return comparison.compared(typed(document), typed(before))


def class_sizes(document):
    return sizes_module.class_sizes(typed(document))


def criteria(document):
    return criteria_module.criteria(typed(document))


def risk(document):
    return measures.risk(typed(document))


def few(value, k):
    return value is not None and 0 < abs(value) < k


def known(figure):
    return figure["value"] is not None


@given(st.integers(0, 30), st.integers(0, 30), st.integers(-30, 30), st.integers(2, 20))
def test_no_comparison_tells_a_count_of_few(now, before, more, k):
    pair = [released(suppressed=now, rows=4_000 + more, k=k), released(suppressed=before, rows=4_000, k=k)]
    changes = {one["title"]: one["change"] for one in compared(*pair)["figures"]}
    assert not few(changes["Records of the source"]["value"], k)
    assert not few(changes["Suppressed records"]["value"], k)
    if known(changes["Suppressed share"]) and more == 0:
        assert not few(round(changes["Suppressed share"]["value"] * 4_000), k)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 30), st.integers(1, 30))
def test_a_release_of_a_time_when_smaller_classes_were_allowed_is_judged_by_the_page(now, before, k, other):
    """The page says that none of its figures is about fewer records than its job allows now."""
    earlier = released(suppressed=before, rows=4_000, k=other)
    earlier["records"].update(suppressed=before, suppressed_share=before / 4_000)
    found = {one["title"]: one for one in compared(released(suppressed=now, rows=4_000, k=k), earlier)["figures"]}
    stated = [found["Suppressed records"][side]["value"] for side in ("before", "now")]
    stated += [found["Suppressed share"][side]["value"] for side in ("before", "now")]
    assert not any(few(round(one * 4_000) if isinstance(one, float) else one, k) for one in stated if one is not None)
    risks = [found["Prosecutor risk"][side]["value"] for side in ("before", "now")]
    assert not any(few(round(1 / one), k) for one in risks if one)
    assert known(found["Suppressed records"]["before"]) == (not few(before, max(k, other)))


def without(records, sizes, k):
    """Give a release of some classes, and of records that were suppressed and of which it does not speak."""
    document = released(suppressed=records, rows=sum(sizes) + records, k=k)
    ordered = sorted(sizes)
    document["classes"] = {
        "number": len(sizes),
        "smallest": ordered[0],
        "median": (ordered[(len(sizes) - 1) // 2] + ordered[len(sizes) // 2]) / 2,
        "largest": ordered[-1],
        "distribution": [
            {"from": size, "to": 2 * size - 1, "classes": len(within), "records": sum(within)}
            for size in (k, 2 * k, 4 * k)
            for within in [[one for one in sizes if size <= one < 2 * size]]
        ],
    }
    document["risk"].update(prosecutor=1 / ordered[0], journalist=1 / ordered[0], marketer=len(sizes) / sum(sizes))
    return document


@st.composite
def releases(draw):
    k = draw(st.integers(2, 12))
    sizes = draw(st.lists(st.integers(k, 8 * k - 1), min_size=1, max_size=40))
    return without(draw(st.integers(1, k - 1)), sizes, k), k


@given(releases())
def test_neither_classes_nor_risks_add_up_to_a_count_of_few(made):
    """By the sum of the bars, of the sizes, and by the number of classes over the mean chance to find a record."""
    document, k = made
    told, source = class_sizes(document), document["records"]["source"]
    ways = []
    records = [row[1] for row in told["chart"]["table"]["rows"]]
    if None not in records:
        ways.append(sum(records))
    sizes = [told[name]["value"] for name in ("smallest", "median", "largest")]
    if told["number"] <= 4 and None not in sizes:
        weights = {1: (1, 0, 0), 2: (1, 0, 1), 3: (1, 1, 1), 4: (1, 2, 1)}[told["number"]]
        ways.append(sum(weight * size for weight, size in zip(weights, sizes, strict=True)))
    assert not any(few(round(source - kept), k) for kept in ways)
    marketer = {one["name"]: one["value"]["value"] for one in risk(document)["measures"]}["marketer"]
    possible = [document["classes"]["number"] / (source - gone) for gone in range(k)]
    written = {rounded(value, marketer) for value in possible} if marketer else set()
    assert marketer is None or written == {marketer}


def rounded(value, like):
    """Give a value with as many significant digits as another one."""
    digits = len(f"{like:.12g}".replace("0.", "").replace(".", "").strip("0"))
    return float(f"{value:.{max(digits, 1)}g}")


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(2, 20))
def test_no_class_size_or_risk_tells_a_count_of_few(sizes, k):
    """Also of a document that does not keep to the rule itself."""
    document = released(k=k)
    document["classes"] = {
        "number": len(sizes),
        **dict.fromkeys(("smallest", "median", "largest"), sizes[0]),
        "distribution": [{"from": size, "to": size, "classes": 1, "records": size} for size in sizes],
    }
    document["privacy"][0]["observed"] = sizes[0]
    document["risk"].update(prosecutor=1 / max(1, sizes[0]), journalist=1 / max(1, sizes[0]))
    told = class_sizes(document)
    assert not any(few(told[name]["value"], k) for name in ("smallest", "median", "largest"))
    rows = told["chart"]["table"]["rows"]
    assert not any(few(records, k) for _, records, _ in rows)
    assert all(classes is None for _, records, classes in rows if records is None)
    assert not few(criteria(document)[0]["observed"]["value"], k)
    by_name = {one["name"]: one["value"]["value"] for one in risk(document)["measures"]}
    for name in ("prosecutor", "journalist"):
        assert by_name[name] is None or not few(round(1 / by_name[name]), k)
    drawn = dict(zip(*(risk(document)["chart"]["series"][0][axis] for axis in "xy"), strict=True))
    assert drawn.get("Prosecutor risk") == by_name["prosecutor"]


SECRET = 4
K = 17


@pytest.mark.airflow
@pytest.mark.parametrize("in_row", [True, False])
def test_no_page_holds_what_was_withheld(get, ledger, in_row):
    """A release that suppressed four records, of which neither row nor document may speak: nor does any page."""
    hidden = {"suppressed": SECRET, "k": K, "rows": 3_000}
    nights = [released(run_id=f"r{night}", release_id=f"r{night}", **hidden) for night in range(3)]
    nights.append(released(run_id="shown", release_id="shown", suppressed=300, k=K, rows=3_000))
    if not in_row:
        # A document that was written before the rule held: pages keep to it nonetheless.
        for document in nights[:3]:
            document["records"].update(suppressed=SECRET, suppressed_share=SECRET / 3_000)
            del document["records"]["below"]
    nights.append(unreleased(run_id="few", k=K, rows=SECRET))
    for document in nights:
        ledger.append(document)
    paths = ["/", "/dags/stays", *(f"/dags/stays/runs/{quote(one['run']['run_id'])}" for one in nights)]
    paths += ["/dags/stays/runs/r1/certificate", "/dags/stays/runs/r1/tasks/publish"]
    for path in paths:
        told = get("/api/jobs" if path == "/" else f"/api{path}").json()
        for key, figure in figures(told):
            if key in COUNTS and isinstance(figure, int):
                assert not few(figure, K), (path, key, figure)
            if key in SHARES and isinstance(figure, float):
                assert not few(figure * 3_000, K), (path, key, figure)
        page = Page(get(path).text)
        assert f"{SECRET / 3_000:.4f}" not in page.text
        assert "0.13%" not in page.text
    overview = get("/api/jobs").json()["jobs"][0]
    assert overview["last_release"]["suppressed_share"] == {"value": 0.1, "below": None}
    assert overview["lately"]["suppressed_share"][0] == {"value": None, "below": K}


COUNTS = ("suppressed", "rows", "source", "released", "records", "change", "smallest", "median", "largest")
SHARES = ("suppressed_share",)


def figures(told, key=""):
    """Give every number of a document, with the key under which it stands, that of a figure for its value."""
    if isinstance(told, dict) and told.get("title") == "Generalization levels":
        return  # of the whole table: rows of this chart are no figures about records
    if isinstance(told, dict):
        # How many attempts ended how is no figure about records.
        for name, below in ((name, below) for name, below in told.items() if name != "counts"):
            yield from figures(below, key if name == "value" else name)
    elif isinstance(told, list):
        yield from itertools.chain.from_iterable(figures(one, key) for one in told)
    elif isinstance(told, (int, float)) and not isinstance(told, bool) and key not in ("below", "bound"):
        yield key, told


def test_the_oracle_finds_what_it_looks_for():
    found = dict(figures(json.loads('{"a": {"suppressed": {"value": 4, "below": null}}, "b": [{"rows": 3}]}')))
    assert found == {"suppressed": 4, "rows": 3}
