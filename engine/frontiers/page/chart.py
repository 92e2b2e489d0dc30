"""The interactive page of a frontier for a custodian; `picture` makes the static one.

In: the report. Out: one self-contained HTML document, including plotly.js, that makes no request: its
Content-Security-Policy allows only its two scripts, by their hashes, and no connection. Texts of the job or the data
are passed as JSON that the HTML parser cannot read as markup, and are shown as text.
"""

from __future__ import annotations

import base64
import hashlib
import html as markup
import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from engine.frontiers.page.chart_data import chart_data
from engine.frontiers.page.picture import picture
from engine.frontiers.published import policies_text, records_text

__all__ = ["html", "picture"]

_ASSETS = Path(__file__).parent


def html(report: Mapping[str, Any]) -> str:
    """Make the page.

    Parameters
    ----------
    report : mapping
        The report of a frontier.

    Returns
    -------
    str
        An HTML document of about 5 MB (plotly.js), larger with more policies and groups. Write it as UTF-8 and do
        not change line ends, because the hashes cover them.
    """
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 (heavy, and needed for nothing but this page)

    library = _script(get_plotlyjs())
    own = _script(_asset("chart.js"))
    return Template(_asset("chart.html")).substitute(
        title=markup.escape(f"Risk and utility of policies: {report['name']}"),
        summary=markup.escape(_summary(report)),
        policy=_security_policy(library, own),
        style=_asset("chart.css"),
        data=_json(chart_data(report)),
        library=library,
        script=own,
    )


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _script(text: str) -> str:
    """Return the text of a script with the line ends that the HTML parser uses, so that its hash holds."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _security_policy(*scripts: str) -> str:
    """Return the Content-Security-Policy that allows these scripts, and no loading or sending."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(data: Any) -> str:
    """Return JSON without the characters that begin or end markup."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _summary(report: Mapping[str, Any]) -> str:
    parts = [
        records_text(report),
        *_population(report),
        f"{policies_text(report['visited'])} checked",
        f"{len(report['frontier']):,} on the frontier",
        f"area under it {report['area']:.4f}",
    ]
    return " \u00b7 ".join(parts)


def _population(report: Mapping[str, Any]) -> list[str]:
    """Describe the population that the risks refer to."""
    if "population_rows" not in report:
        return []
    people = report["population_rows"]
    return ["taken for the whole population" if people is None else f"a population of {people:,}"]
