"""Accuracy and AUC of models trained on the release and tested on held-out records of the source.

As in the evaluations of J. Brickell and V. Shmatikov, The cost of privacy, KDD 2008, and of ARX (F. Prasser et al.,
Flexible data anonymization using ARX, Software: Practice and Experience 50, 2020): the same folds, once with the values
of the source and once with the labels of the release. A held-out record has the labels that the transformation gives
its values; of a local recoding those that the record has in the release, `*` if it is suppressed. Models are those of
scikit-learn, which is the optional extra `usefulness`.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidJob
from engine.usefulness.document import ModelScores, Scores
from engine.usefulness.features import Feature, matrix

TREES = 50
LEAST_LEAF = 5
BINARY = 2


def refuse_absent_models() -> None:
    """Refuse to predict where scikit-learn is not installed.

    Raises
    ------
    InvalidJob
        Names the key and the extra.
    """
    if importlib.util.find_spec("sklearn") is None:
        raise InvalidJob(
            "usefulness.targets: needs scikit-learn, which is not installed; install the extra 'usefulness' "
            "(pip install 'airflow-anon[usefulness]'), or take targets out"
        )


def scores(
    classes: NDArray[np.int64],
    source: Sequence[Feature],
    trained: Sequence[Feature],
    tested: Sequence[Feature],
    released: NDArray[np.bool_],
    *,
    folds: int,
    seed: int,
) -> list[ModelScores]:
    """Cross-validate each model, stratified by class.

    Parameters
    ----------
    classes : int64, shape (records,)
        Of each record, from 0 on; each class has at least `folds` records, and there are at least two.
    source : sequence of Feature
        Values of the source.
    trained, tested : sequence of Feature
        Labels of the release where a record is in the training set, and where it is held out: a suppressed record is
        `*` in the first.
    released : bool, shape (records,)
        Whether the record is in the file: without it, it is held out only.
    """
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415 (an optional extra, and slow to load)

    parts = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(classes[:, None], classes))
    everywhere = np.ones(classes.size, np.bool_)
    return [
        {
            "model": name,
            "source": _validated(name, parts, classes, source, source, everywhere, seed),
            "release": _validated(name, parts, classes, trained, tested, released, seed),
        }
        for name in ("logistic-regression", "random-forest")
    ]


def baseline(classes: NDArray[np.int64]) -> float:
    """Return the accuracy of always naming the most frequent class."""
    return float(np.bincount(classes).max() / classes.size)


def _validated(
    name: str,
    parts: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    classes: NDArray[np.int64],
    trained: Sequence[Feature],
    tested: Sequence[Feature],
    present: NDArray[np.bool_],
    seed: int,
) -> Scores:
    """Return the scores of all held-out records: accuracy over all folds, AUC as the mean of folds."""
    number = int(classes.max()) + 1
    right, areas = 0, []
    for training, held_out in parts:
        known = training[present[training]]
        if known.size == 0:
            return {"accuracy": None, "auc": None}
        like = _selected(trained, known)
        chances = _chances(
            name, matrix(like, like), classes[known], matrix(_selected(tested, held_out), like), number, seed
        )
        right += int((chances.argmax(axis=1) == classes[held_out]).sum())
        areas.append(_area(classes[held_out], chances))
    return {"accuracy": right / classes.size, "auc": float(np.mean(areas))}


def _selected(features: Sequence[Feature], records: NDArray[np.int64]) -> list[Feature]:
    return [Feature(one.codes[records], one.numbers) for one in features]


def _chances(
    name: str,
    known: NDArray[np.float64],
    classes: NDArray[np.int64],
    asked: NDArray[np.float64],
    number: int,
    seed: int,
) -> NDArray[np.float64]:
    """Return the predicted probability of each class, shape (asked records, number); 0 of one that was not seen."""
    found = np.zeros((asked.shape[0], number))
    seen = np.unique(classes)
    if seen.size == 1:
        found[:, seen] = 1.0
        return found
    model = model_of(name, seed)
    with warnings.catch_warnings():
        # a fit that has not converged yet is judged by its accuracy like any other
        warnings.simplefilter("ignore")
        model.fit(known, classes)
        found[:, seen] = model.predict_proba(asked)
    return found


def model_of(name: str, seed: int) -> Any:
    """Return a model of scikit-learn that is not trained yet: `logistic-regression`, or else a random forest."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 (as above)
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    if name == "logistic-regression":
        return LogisticRegression(max_iter=200)
    return RandomForestClassifier(TREES, min_samples_leaf=LEAST_LEAF, random_state=seed)


def _area(classes: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """Return the area under the ROC curve: of two classes that of the second, of more the mean of each against all."""
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415 (as above)

    number = chances.shape[1]
    of_class = [roc_auc_score(classes == one, chances[:, one]) for one in range(number)]
    return float(of_class[1] if number == BINARY else np.mean(of_class))
