"""Accuracy and AUC, beside scikit-learn run by hand on source and file."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from engine import InvalidJob, run
from engine.usefulness import measure
from engine.usefulness.draw import draw
from engine.usefulness.measure import FEWEST_OF_CLASS, MOST_CLASSES, classes_of, kept_seed, new_seed
from engine.usefulness.published import share_places
from tests.engine.usefulness.conftest import SEED
from tests.engine.usefulness.stays import job, stays

ASKED = {"targets": ["ill"], "folds": 2}


@pytest.fixture
def sklearn():
    """Skip where the extra is not installed."""
    return pytest.importorskip("sklearn", reason="needs the extra 'usefulness'")


def by_hand(train, test, classes, parts, present):
    """Train and test a logistic regression fold by fold; give accuracy and mean AUC."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    right, areas = [], []
    for training, held_out in parts:
        known = training[present[training]]
        scaler = StandardScaler().fit(train[known])
        model = LogisticRegression(max_iter=500).fit(scaler.transform(train[known]), classes[known])
        asked = scaler.transform(test[held_out])
        right += list(model.predict(asked) == classes[held_out])
        areas.append(roc_auc_score(classes[held_out], model.predict_proba(asked)[:, 1]))
    return np.mean(right), np.mean(areas)


def test_accuracy_is_that_of_scikit_learn_by_hand(tmp_path, sklearn, monkeypatch):
    """By the age alone; a suppressed record trains no model of the release, and is tested by its band all the same."""
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415

    draws = []
    monkeypatch.setattr(measure, "draw", lambda *given, **named: draws.append(draw(*given, **named)) or draws[-1])
    table = stays(rare=40)
    age, zips = (np.array(table[name].to_pylist()) for name in ("age", "zip"))
    age_alone = {
        **job().document()["attributes"],
        # one indicator is the opposite of the other: two columns of the same meaning
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
    }
    result = run(
        job(ASKED, attributes=age_alone, output={"path": "release", "suppressed": "drop"}), table, tmp_path / "release"
    )
    (drawn,) = draws
    assert drawn.chosen.all()
    # folds are of records in the order in which they are drawn
    age, zips, ill = (one[drawn.order] for one in (age, zips, np.array(table["ill"].to_pylist())))
    file = result.table
    ages, codes = file["age"].to_pylist(), file["zip"].to_pylist()
    kept = {(int(band[1:].split(",")[0]), code) for band, code in zip(ages, codes, strict=True)}
    present = np.array([(one // 10 * 10, code) in kept for one, code in zip(age.tolist(), zips.tolist(), strict=True)])
    assert present.sum() == file.num_rows < 600

    classes = (ill == "no").astype(int)
    # classes are numbered by how many records they have
    classes = classes if classes.mean() < 0.5 else 1 - classes
    parts = list(StratifiedKFold(2, shuffle=True, random_state=SEED).split(classes[:, None], classes))
    of_zips = np.column_stack([zips == one for one in sorted(set(zips))]).astype(float)
    source = np.column_stack([age, of_zips])
    bands = np.column_stack([age // 10 * 10 + 4.5, of_zips])

    (target,) = result.report["usefulness"]["targets"]
    (model,) = (one for one in target["models"] if one["model"] == "logistic-regression")
    assert target["baseline"] == pytest.approx(1 - classes.mean())
    expected = by_hand(source, source, classes, parts, np.ones(600, bool))
    # indicators are not standardized in the one and are in the other: the penalty differs a little
    assert (model["source"]["accuracy"], model["source"]["auc"]) == pytest.approx(expected, abs=0.02)
    expected = by_hand(bands, bands, classes, parts, present)
    assert (model["release"]["accuracy"], model["release"]["auc"]) == pytest.approx(expected, abs=0.02)
    assert model["source"]["accuracy"] > target["baseline"] + 0.1
    assert model["source"]["auc"] > 0.7

    (told,) = result.published["usefulness"]["targets"]
    assert told["baseline"] == round(target["baseline"], share_places(600))


def test_a_release_without_information_predicts_no_better_than_the_baseline(sklearn):
    root = {
        **job().document()["attributes"],
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10]}, "minimum_level": 2},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "minimum_level": 1},
    }
    result = run(job(ASKED, attributes=root, allow_empty_information=True), stays(400, rare=0))
    (target,) = result.report["usefulness"]["targets"]
    for model in target["models"]:
        assert model["release"]["accuracy"] == pytest.approx(target["baseline"], abs=0.005)
        assert model["release"]["auc"] == pytest.approx(0.5)
        assert model["source"]["auc"] > 0.65


def test_the_same_seed_has_the_same_figures(sklearn):
    asked = {**ASKED, "records": 200}
    first, again = (run(job(asked), stays(400)).report["usefulness"]["targets"] for _ in range(2))
    assert first == again
    assert first[0]["records"] == 200


def test_who_knows_all_other_records_cannot_train_the_models_again(sklearn, monkeypatch):
    """With a known seed all digits tell each age that the last record may have from the others, so some steps do too.

    With one that nobody knows the right age has other figures each time, as any other age has.
    """
    table = stays(400)
    ages = range(40, 46)

    def figures(age):
        made = run(job(ASKED), table.set_column(0, "age", [[age, *table["age"].to_pylist()[1:]]]))
        assert "seed" not in str(made.report)
        return str(made.report["usefulness"]["targets"][0]["models"])

    known = {age: figures(age) for age in ages}
    assert [age for age in ages if known[age] == figures(43)] == [43]
    monkeypatch.setattr(measure, "new_seed", new_seed)
    told = {figures(43) for _ in range(2)}
    assert len(told) == 2
    assert told.isdisjoint(known.values())


def test_many_nights_of_one_table_tell_no_more_than_one(sklearn, monkeypatch):
    """Else their mean comes near to what is expected of the table, which is another for each value of a last record.

    Without a key each night has other figures; under one the figures are those of the records, in whatever order.
    """
    monkeypatch.setattr(measure, "new_seed", new_seed)
    table, asked = stays(400), {**ASKED, "records": 200}

    def figures(source, key, asked=asked):
        (target,) = run(job(asked), source, fingerprint_key=key).report["usefulness"]["targets"]
        return json.dumps(target["models"])

    nights = [table.take(np.random.default_rng(night).permutation(400)) for night in range(3)]
    key, other = b"k" * 32, b"l" * 32
    (always,) = {figures(night, key) for night in nights}
    assert len({figures(night, None) for night in nights}) == len(nights)
    assert figures(table, other) != always
    # one age that is another changes folds and trees of all, also behind a label that stays
    assert table["age"][0].as_py() % 10 != 9
    changed = table.set_column(0, "age", [[table["age"][0].as_py() + 1, *table["age"].to_pylist()[1:]]])
    everybody = {**ASKED, "records": 400}
    assert figures(changed, key, everybody) != figures(table, key, everybody)


def test_who_lacks_the_key_does_not_know_the_seed():
    """It has no part of the key or of the records alone."""
    keys, contents = [bytes([one]) * 32 for one in range(20)], [bytes([one]) * 32 for one in range(20)]
    assert len({kept_seed(key, content) for key in keys for content in contents}) == 400
    assert all(0 <= kept_seed(key) < 2**32 for key in keys)


def test_without_scikit_learn_the_extra_is_named_before_anything_is_read(monkeypatch):
    found = importlib.util.find_spec

    def without(name, package=None):
        return None if name == "sklearn" else found(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(InvalidJob, match=r"usefulness\.targets: needs scikit-learn.*airflow-anon\[usefulness\]"):
        run(job(ASKED), Unread())
    assert run(job({"columns": ["age"]}), stays()).report["usefulness"]["targets"] == []


class Unread:
    """A table of which no record may be read."""

    schema = stays(20).schema

    def batches(self, columns):
        pytest.fail(f"{columns} were read")


def test_classes_of_texts_and_numbers():
    there, classes = classes_of(["a"] * 30 + ["b"] * 25 + [None] * 9 + ["c"] * 12 + ["d"] * 9, 5)
    assert there.size == 76
    # two rare values are enough together
    assert np.bincount(classes).tolist() == [30, 25, 21]
    there, classes = classes_of(["a"] * 30 + ["b"] * 25 + ["c"] * 19, 5)
    assert np.bincount(classes).tolist() == [30, 25]
    assert there.size == 55
    there, classes = classes_of([float(value) for value in range(100)], 5)
    assert np.bincount(classes).tolist() == [25, 25, 25, 25]
    there, classes = classes_of([str(value) for value in range(40) for _ in range(FEWEST_OF_CLASS)], 5)
    assert np.bincount(classes).size == MOST_CLASSES
    assert classes_of([None, None], 5)[1].size == 0


def test_a_target_with_one_class_has_no_figures():
    table = stays(300)
    result = run(job(ASKED), table.set_column(2, "ill", [["yes"] * 300]))
    (target,) = result.published["usefulness"]["targets"]
    assert (target["classes"], target["baseline"], target["models"]) == (1, None, [])
