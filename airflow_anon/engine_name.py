"""Other modules named `engine`: the name is common, and of two on the path one hides the other.

In: the path of this process. Out: an error that says which module is in the way.
"""

from __future__ import annotations

import sys
from pathlib import Path

_OURS = Path(__file__).resolve().parent.parent / "engine"


def refuse_other_engine() -> None:
    """Make sure that `import engine` gives the engine of this package.

    Raises
    ------
    ImportError
        Another module has the name.
    """
    try:
        import engine  # noqa: PLC0415 (what it is, is the question)
    except Exception as problem:  # noqa: BLE001 (a module of somebody else may raise anything)
        raise ImportError(_text(next(iter(other_engines()), None), type(problem).__name__)) from None
    if "load_job" not in getattr(engine, "__all__", ()):
        places = [getattr(engine, "__file__", None), *getattr(engine, "__path__", ())]
        raise ImportError(_text(next((place for place in places if place), None)))


def other_engines() -> list[Path]:
    """Return the modules named `engine` on the path that are not ours; one of them and ours hide each other."""
    found = []
    for entry in sys.path:
        folder = Path(entry or ".")
        if (folder / "airflow_anon").is_dir():
            continue  # an installation of this package, such as the one that is developed
        candidates = [folder / "engine.py", folder / "engine" / "__init__.py"]
        found += [one for one in candidates if one.is_file()]
    return list(dict.fromkeys(found))


def hidden_engine_text(place: Path) -> str:
    """Say that our engine hides a module of the user."""
    return (
        f"{place}: has the name of the package 'engine' of airflow-anon, and one of them hides the other; rename it, "
        "or move it into a package of your own"
    )


def _text(place: Path | str | None, problem: str | None = None) -> str:
    where = "a module on the path" if place is None else str(place)
    why = "" if problem is None else f" (importing it raised {problem})"
    return (
        f"{where}: hides the package 'engine' of airflow-anon, because it has the same name{why}; rename it, or move "
        f"it into a package of your own; ours is {_OURS}"
    )
