"""The page: the report's figures and policies arrive in it, and nothing of them becomes markup or a request."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from engine.frontiers.page.chart import html
from engine.frontiers.page.chart_data import chart_data
from engine.frontiers.page.picture import picture
from tests.engine.frontiers.frontier_report import frontier_report

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=alert(1)>&lt;b&gt;<!--"


class Page(HTMLParser):
    """Elements of a page with their attributes, and the text of its scripts and title."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.scripts = []
        self.title = ""
        self._inside = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):  # noqa: ARG002 (the name is the parser's)
        self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside == "title":
            self.title += data


def read_back(data):
    """Give the figures and the groups' texts of every entry, through the tables that the page looks them up in."""
    for *figures, treatments in data["entries"]:
        policy = {}
        for attribute, place in zip(data["attributes"], treatments, strict=True):
            policy[attribute["name"]] = [
                attribute["groups"][group] for group in attribute["treatments"][place]["groups"]
            ]
        yield figures, policy


def told(entry):
    """Give the same of an entry of the report."""
    texts = {
        name: [group.get("value") or group.get("node") or f"{group['from']}-{group['to']}" for group in groups]
        for name, groups in entry["policy"].items()
    }
    return [entry[key] for key in ("risk", "utility_loss", "normalized_risk", "normalized_utility_loss")], texts


def test_every_policy_of_the_report_can_be_looked_up():
    report = frontier_report(60)
    entries = [*report["frontier"], *report["k_anonymity"]["5"], *report["k_anonymity"]["10"]]
    entries += [report["safe_harbor"], report["current"]]
    data = chart_data(report)
    assert list(read_back(data)) == [told(entry) for entry in entries]
    kinds = [(series["kind"], series["label"], len(series["entries"])) for series in data["series"]]
    assert kinds == [
        ("frontier", "Frontier", 60),
        ("k-anonymity", "5-anonymity", 4),
        ("k-anonymity", "10-anonymity", 3),
        ("safe-harbor", "Safe Harbor", 1),
        ("current", "Policy in use", 1),
    ]
    assert [chosen["entry"] for chosen in data["shortlist"]] == [chosen["index"] for chosen in report["shortlist"]]


def test_a_treatment_that_policies_share_is_told_once():
    """Thousands of policies of hundreds of groups would not fit a page otherwise."""
    data = chart_data(frontier_report(2_000))
    gender = next(attribute for attribute in data["attributes"] if attribute["name"] == "gender")
    assert [treatment["groups"] for treatment in gender["treatments"]] == [[0], [1, 2]]


def test_safe_harbor_that_no_policy_is_says_so():
    """Only then: the figures of any other mark are those of its policy."""
    for exact, noted in ((False, ["Safe Harbor"]), (True, [])):
        report = frontier_report(20)
        report["safe_harbor"]["exact"] = exact
        series = chart_data(report)["series"]
        assert [one["label"] for one in series if "stricter" in one.get("note", "")] == noted
        title = re.findall(r"<g><title>(.*?)</title><path", picture(report))
        assert title == [one["note"] for one in series if "note" in one]


def test_a_mark_that_is_beaten_says_by_which_policy():
    """And one that is on the frontier too says its number there; the picture says why there are such marks."""
    report = frontier_report(60)
    assert chart_data(report)["beaten"] == chart_data(report)["numbers"] == []
    assert "for comparison" not in picture(report)
    report["current"].update(number=None, beaten_by=40)
    report["k_anonymity"]["5"][1].update(number=7, beaten_by=None)
    report["frontier"][2]["beaten_by_safe_harbor"] = True
    report["safe_harbor"].update(exact=False, risk=report["frontier"][2]["risk"], utility_loss=0.1)
    data = chart_data(report)
    current = next(series for series in data["series"] if series["kind"] == "current")["entries"][0]
    harbor = "The rule of Safe Harbor has less utility loss at the same risk"
    assert data["beaten"] == [
        [2, f"{harbor}, but no policy of whole groups is equal to that rule."],
        [current, "Shown for comparison: policy 40 has less risk and less utility loss."],
    ]
    assert data["numbers"] == [[61, 7]]
    assert "Marks off the frontier are shown for comparison" in picture(report)


@pytest.fixture(scope="module")
def hostile():
    """Make a page of a report with markup wherever the job or the data can put text."""
    report = frontier_report(5, name=HOSTILE)
    for entry in report["frontier"]:
        entry["policy"] = {HOSTILE: [{"node": HOSTILE}, {"value": HOSTILE}, {"from": HOSTILE, "to": HOSTILE}]}
    report["shortlist"] = [{**report["frontier"][2], "index": 2, "why": HOSTILE}]
    report["settings"] = {"risk": HOSTILE, "utility": HOSTILE}
    return html(report)


def test_text_of_the_job_and_the_data_is_no_markup(hostile):
    page = Page(hostile)
    assert [tag for tag, _ in page.elements].count("script") == 3
    assert not [tag for tag, _ in page.elements if tag in {"img", "link", "iframe", "object", "base"}]
    assert HOSTILE in page.title
    data = json.loads(page.scripts[0])
    assert data["attributes"][0]["name"] == HOSTILE
    assert data["shortlist"][0]["why"] == HOSTILE
    assert data["attributes"][0]["groups"][:2] == [HOSTILE, f"{HOSTILE} to {HOSTILE}"]


def test_no_element_names_an_address(hostile):
    named = [
        value
        for _, attributes in Page(hostile).elements
        for name, value in attributes.items()
        if name in {"src", "href", "srcset", "action", "data"} or name.startswith("on")
    ]
    assert named == []


def test_only_the_two_scripts_of_the_page_may_run(hostile):
    """The policy's hashes are those of the scripts as a parser reads them; nothing else has a source."""
    page = Page(hostile)
    policy = next(attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in page.scripts[1:]
    }
    assert set(rules.pop("script-src").split()) == hashes
    assert rules.pop("style-src") == "'unsafe-inline'"
    assert rules.pop("img-src") == "data: blob:"
    assert set(rules.values()) == {"'none'"}
    assert "default-src" in rules


def test_no_figure_may_be_other_than_a_number():
    """JSON has no NaN: a page with one would stay empty."""
    report = frontier_report(5)
    report["frontier"][0]["risk"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        html(report)


@pytest.mark.parametrize(
    ("rows", "words"),
    [(None, "30,162 records \u00b7 taken for the whole population"), (5_000_000, "a population of 5,000,000")],
)
def test_the_head_tells_the_population(rows, words):
    """Risks against the table itself and against a state are not to be compared."""
    report = {**frontier_report(5), "population_rows": rows}
    assert words in re.sub(r"<script.*?</script>", "", html(report), flags=re.DOTALL)


def test_the_head_tells_the_figures():
    text = re.sub(r"<script.*?</script>", "", html(frontier_report(1_234)), flags=re.DOTALL)
    for figure in ("30,162 records", "20,000 policies", "1,234 on the frontier", "0.0831"):
        assert figure in text
