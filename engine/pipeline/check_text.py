"""What a check says on a terminal.

In: a `Check`. Out: lines, one per problem; or the figures of the release that would be made.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.message import visible
from engine.pipeline.check import Check
from engine.pipeline.summary import summary


def check_lines(found: Check, *, show_values: bool = False) -> Iterator[str]:
    """Yield the lines.

    Parameters
    ----------
    show_values : bool
        Whether values without a hierarchy entry are shown: only to a person who may see the source.
    """
    yield from map(visible, _lines(found, show_values=show_values))


def _lines(found: Check, *, show_values: bool) -> Iterator[str]:
    if found.is_sample:
        yield "sample       only the first records were read: of all less may be suppressed, and more values unknown"
    for section in found.left_out:
        yield f"not checked  {section}: by it more may be suppressed, and a night be refused; only a run looks at it"
    for problem in found.problems:
        yield f"problem      {problem}"
    if found.problems:
        yield f"{len(found.problems)} problem{'s' if found.problems[1:] else ''}: a run would release nothing"
    if found.published is not None:
        yield from summary(found.published, None).splitlines()
    if found.emptied:
        yield (
            f"nothing left of {', '.join(found.emptied)}: fewer quasi-identifying columns, weights, a higher "
            "suppression_limit or, where records are counted, transformation: local-recoding keep more"
        )
    if show_values:
        for name, values in found.unseen.items():
            yield f"unknown in {name!r}, the most frequent first: {', '.join(map(repr, values))}"
