"""Texts inside Markdown, as programs show them: the text alone, and nothing that it could be taken for."""

from __future__ import annotations

import html
import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine import markdown_text
from engine.codebook.readme import readme
from tests.engine.codebook.test_readme import CODEBOOK

EVIL = [
    "![x](http://evil.example/a.png)",
    "[click](http://evil.example) <script>alert(1)</script>",
    "a\n# forged heading",
    "a\n\n- 5-anonymity",
    "<http://evil.example>",
    "`code` *em* __strong__ ~~gone~~ a|b",
    "# a",
    "- a",
    "+ a",
    "1. a",
    "1) a",
    "> a",
    "---",
    "===",
    "&lt;b&gt; &amp;",
    "a\\",
    "\\[a](b)",
    "[a]: http://evil.example",
    "```",
    "~~~",
    "</td></table>",
    "_a_ a_b_c __",
    "\u2028# a",
]
MARKUP = st.text(st.sampled_from([*string.punctuation, *"a1 \n"]), min_size=1, max_size=12)
SHOWN = re.compile(r"<(?!/?(?:p|li|ul|table|thead|tbody|tr|th|td|h1)\b)[^>]*>")


def programs():
    """Give programs that read Markdown."""
    markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py")
    mistune = pytest.importorskip("mistune", reason="needs mistune")
    yield markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render
    yield mistune.create_markdown(escape=False, plugins=["table", "strikethrough"])


@given(st.one_of(st.sampled_from(EVIL), MARKUP))
@example("a" * 3 + "_")
def test_a_text_is_shown_as_it_is(text):
    one_line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    if not one_line:
        return
    for render in programs():
        for around in ("- {}", "| a | b |\n| --- | --- |\n| {} | x |"):
            made = render(around.format(markdown_text(text)))
            assert SHOWN.findall(made) == []
            cell = re.search(r"<(li|td)[^>]*>(.*?)</\1>", made, re.DOTALL)
            assert html.unescape(cell[2]) == one_line
        # with what stands after a name in a README
        made = render(f"- {markdown_text(text)}: a-b stands for ages")
        assert html.unescape(re.search(r"<li>(.*?)</li>", made, re.DOTALL)[1]) == f"{one_line}: a-b stands for ages"


@pytest.mark.parametrize("address", ["http://evil.example", "www.evil.example", "a@evil.example"])
def test_an_address_becomes_no_link_by_itself(address):
    mistune = pytest.importorskip("mistune", reason="needs mistune")
    render = mistune.create_markdown(escape=False, plugins=["url"])
    assert "<a " not in render(markdown_text(address))
    assert render(markdown_text(address)) == f"<p>{address}</p>\n"


def test_plain_names_stay_plain():
    for name in ("admission_date", "age", "a.b", "ICD-10 (main)", "größe", "5-anonymity", "0.2-closeness of a_b"):
        assert markdown_text(name) == name


@pytest.mark.parametrize("name", EVIL)
def test_no_name_of_a_column_is_markup_in_a_readme(name):
    columns = [{**CODEBOOK["columns"][0], "column": name, "shifted": True}, CODEBOOK["columns"][1]]
    text = readme({**CODEBOOK, "columns": columns, "criteria": [f"distinct 2-diversity of {name}"]})
    plain = readme({**CODEBOOK, "columns": [{**columns[0], "column": "plain"}, columns[1]], "criteria": ["plain"]})
    for render in programs():
        tags = re.findall(r"<[^>]*>", render(text))
        assert tags == re.findall(r"<[^>]*>", render(plain))
