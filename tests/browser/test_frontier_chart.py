"""The page of a frontier as a custodian sees it: opened from disk, without a network, by mouse and by keyboard."""

from __future__ import annotations

import pytest

from engine.frontiers.page.chart import html
from tests.engine.frontiers.frontier_report import frontier_report

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = "<img src=x onerror=\"document.title='run'\"></script><script>document.title='run'</script>"


class Opened:
    """A page from disk, what it asked for and what went wrong in it."""

    def __init__(self, browser, path, report, scheme="light"):
        path.write_text(html(report), encoding="utf-8", newline="\n")
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1400, "height": 1250})
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.requests, self.errors = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def panel(self):
        return self.page.inner_text("#panel")


@pytest.fixture
def opened(chromium, tmp_path):
    """Give `opened(report, scheme="light")`, which opens its page."""
    contexts = []

    def opening(report, scheme="light"):
        made = Opened(chromium, tmp_path / "frontier.html", report, scheme)
        contexts.append(made.page.context)
        return made

    yield opening
    for context in contexts:
        context.close()


def pixel(page, entry):
    """Give where an entry of the report lies in the window."""
    return page.evaluate(
        """([risk, loss]) => {
            const chart = document.getElementById("chart"), { xaxis, yaxis } = chart._fullLayout;
            const box = chart.getBoundingClientRect();
            return [box.left + xaxis._offset + xaxis.d2p(risk), box.top + yaxis._offset + yaxis.d2p(loss)];
        }""",
        [entry["risk"], entry["utility_loss"]],
    )


def hover_words(page):
    return "\n".join(page.locator("g.hoverlayer g.hovertext text.nums tspan.line").all_text_contents())


def test_nothing_is_asked_of_anybody(opened):
    """One request, for the file itself, and no error, in either colour scheme."""
    for scheme in ("light", "dark"):
        made = opened(frontier_report(40), scheme)
        made.page.wait_for_load_state("networkidle")
        assert [url.partition("://")[0] for url in made.requests] == ["file"]
        assert made.errors == []


def test_no_button_sends_the_chart_away(opened):
    """The charting library has one by default; those that are left work in the page."""
    made = opened(frontier_report(5))
    labels = made.page.eval_on_selector_all(".modebar-btn", "found => found.map(one => one.dataset.title)")
    assert labels == ["Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]


def test_pointing_at_a_policy_tells_what_it_does(opened):
    report = frontier_report(40)
    made = opened(report)
    made.page.mouse.move(*pixel(made.page, report["safe_harbor"]))
    made.page.wait_for_selector("g.hoverlayer g.hovertext")
    words = hover_words(made.page)
    assert "Safe Harbor" in words
    assert "Risk 0.088%, utility loss 1.49" in words
    first, *_, last = report["safe_harbor"]["policy"]["age"]
    assert f" groups, {first['from']}-{first['to']} … {last['from']}-{last['to']}" in words
    assert "gender: 2 values, each on its own" in words


def test_pointing_at_safe_harbor_tells_that_its_policy_is_stricter(opened):
    """Where no policy keeps apart exactly what the rule does, hover and panel say so before the groups."""
    report = frontier_report(40)
    report["safe_harbor"]["exact"] = False
    made = opened(report)
    made.page.mouse.move(*pixel(made.page, report["safe_harbor"]))
    made.page.wait_for_selector("g.hoverlayer g.hovertext")
    lines = hover_words(made.page).split("\n")
    assert "has to be stricter" in lines[2]
    assert lines[3].startswith("age: ")
    made.page.mouse.click(*pixel(made.page, report["safe_harbor"]))
    assert "has to be stricter" in made.panel()


def test_a_click_shows_all_groups(opened):
    from playwright.sync_api import expect  # noqa: PLC0415 (only where there is a browser)

    report = frontier_report(40)
    made = opened(report)
    made.page.mouse.click(*pixel(made.page, report["k_anonymity"]["5"][2]))
    expect(made.page.locator("#panel-title")).to_have_text("5-anonymity, 3 of 4")
    groups = made.page.locator("#panel .groups").first.locator("li").all_inner_texts()
    expected = [f"{group['from']}-{group['to']}" for group in report["k_anonymity"]["5"][2]["policy"]["age"]]
    assert groups == expected


def test_the_keyboard_walks_along_the_frontier(opened):
    made = opened(frontier_report(40))
    made.page.focus("#slider")
    made.page.keyboard.press("Home")
    assert "Policy 1 of 40 on the frontier" in made.panel()
    made.page.keyboard.press("ArrowRight")
    assert "Policy 2 of 40 on the frontier" in made.panel()
    assert made.page.get_attribute("#slider", "aria-valuetext").startswith("Policy 2 of 40")


def test_the_keyboard_opens_a_policy_of_the_short_list(opened):
    report = frontier_report(40)
    made = opened(report)
    number = report["shortlist"][0]["index"] + 1
    made.page.get_by_role("button", name=f"Show policy {number}", exact=True).focus()
    made.page.keyboard.press("Enter")
    assert f"Policy {number} of 40 on the frontier" in made.panel()
    assert report["shortlist"][0]["why"] in made.panel()
    assert made.page.locator("#shortlist tbody tr").count() == len(report["shortlist"])


def test_a_mark_off_the_frontier_says_what_beats_it_and_one_on_it_its_number(opened):
    report = frontier_report(40)
    report["current"].update(number=None, beaten_by=27)
    report["k_anonymity"]["5"][1].update(number=12, beaten_by=None)
    made = opened(report)
    made.page.mouse.click(*pixel(made.page, report["current"]))
    made.page.wait_for_selector("#panel-title:text-is('Policy in use')")
    assert "Shown for comparison: policy 27 has less" in made.panel()
    # the panel takes its place beside the chart, which is drawn again
    made.page.wait_for_timeout(500)
    made.page.mouse.click(*pixel(made.page, report["k_anonymity"]["5"][1]))
    title = "5-anonymity, 2 of 4: policy 12 of the frontier"
    made.page.wait_for_selector(f"#panel-title:text-is('{title}')")


def test_the_table_behind_the_chart_has_every_policy(opened):
    report = frontier_report(40)
    made = opened(report)
    made.page.get_by_text("The table behind the chart").click()
    made.page.wait_for_selector("#everything tbody tr")
    assert made.page.locator("#everything tbody tr").count() == 40 + 4 + 3 + 1 + 1
    assert made.page.locator("#everything thead th").all_inner_texts()[3:] == ["age", "zip", "gender", "race"]


def test_the_number_of_a_policy_stays_on_one_line_beside_long_words(opened):
    report = frontier_report(2000)
    words = "Native Hawaiian or Other Pacific Islander " * 9
    for entry in report["frontier"]:
        entry["policy"] = {
            f"{name} of the patient": [{"node": words}, {"node": "other"}] for name in ("race", "origin")
        }
    for chosen in report["shortlist"]:
        chosen.update(policy=report["frontier"][0]["policy"], why=words)
    report.update(safe_harbor=None, current=None, k_anonymity={})
    lines = opened(report).page.evaluate(
        """() => [...document.querySelectorAll("#shortlist .number")].map((button) => {
            const text = document.createRange();
            text.selectNodeContents(button);
            return new Set([...text.getClientRects()].map((line) => line.top)).size;
        })"""
    )
    assert lines == [1] * len(report["shortlist"])


def test_markup_in_names_and_labels_is_shown_and_not_run(opened):
    report = frontier_report(12, name=HOSTILE)
    for entry in report["frontier"]:
        entry["policy"] = {HOSTILE: [{"node": HOSTILE}, {"node": "other"}]}
    for chosen in report["shortlist"]:
        chosen.update(policy=report["frontier"][0]["policy"], why=HOSTILE)
    report.update(safe_harbor=None, current=None, k_anonymity={})
    made = opened(report)
    made.page.mouse.move(*pixel(made.page, report["frontier"][3]))
    made.page.wait_for_selector("g.hoverlayer g.hovertext")
    assert f"{HOSTILE}: 2 groups, <img src=x" in hover_words(made.page)
    assert made.page.title() == f"Risk and utility of policies: {HOSTILE}"
    assert HOSTILE in made.panel()
    assert made.page.locator("#shortlist td", has_text=HOSTILE).count() >= 1
    assert made.page.locator("img").count() == 0
    assert made.page.locator("script").count() == 3
    assert made.errors == []


def test_a_script_put_into_the_page_does_not_run(opened):
    """The security policy holds even where escaping would not: an inline handler is refused."""
    made = opened(frontier_report(5))
    before = made.page.title()
    made.page.evaluate(
        "html => { document.body.insertAdjacentHTML('beforeend', html); }", HOSTILE.partition(">")[0] + ">"
    )
    made.page.wait_for_timeout(300)
    assert made.page.title() == before
    assert any("Content Security Policy" in error for error in made.errors)


def test_dark_and_light_follow_the_reader(opened):
    """Text stands out from its ground in both, by the contrast ratio of WCAG 2.1 (at least 4.5)."""
    for scheme in ("light", "dark"):
        made = opened(frontier_report(120), scheme)
        for name in ("ink", "faint"):
            assert contrast(*(css_colour(made.page, part) for part in (name, "paper"))) >= 4.5
    backgrounds = [
        opened(frontier_report(5), scheme).page.evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert backgrounds[0] != backgrounds[1]


def css_colour(page, name):
    found = page.evaluate(
        "name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()", name
    )
    return [int(found[start : start + 2], 16) / 255 for start in (1, 3, 5)]


def contrast(first, second):
    """Contrast ratio of two sRGB colours, WCAG 2.1."""
    lights = sorted(luminance(colour) + 0.05 for colour in (first, second))
    return lights[1] / lights[0]


def luminance(colour):
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
