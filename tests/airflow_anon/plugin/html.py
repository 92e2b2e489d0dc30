"""A page as a browser reads it: its elements, and its text."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """Collects tags, attributes and text.

    Attributes
    ----------
    elements : list of (tag, attributes)
    text : str
        All text but that of styles, with runs of white space as one space.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[str] = []
        self.feed(html)
        self.close()
        self.text = " ".join(" ".join(self._texts).split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self._texts.append(data)

    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def links(self) -> list[str]:
        return [found["href"] or "" for found in self.all("a") if "href" in found]

    def addresses(self) -> list[str]:
        """Return every address that the page loads, links to or sends a form to."""
        return [value or "" for _, found in self.elements for name, value in found.items() if name in ADDRESSES]


ADDRESSES = ("href", "src", "action")
