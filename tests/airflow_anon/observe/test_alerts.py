"""When an attempt is worth a look: each rule, and the band of usual figures against exact fractions."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_anon.ledger.form_parts import Reason, Series
from airflow_anon.ledger.form_publication import Delivered
from airflow_anon.observe import alerts as module
from airflow_anon.observe.alerts import AlertSettings, band_of
from tests.airflow_anon.entries import JOB_SHA256, OTHER_SHA256, entry_of, history_of
from tests.reference import alerts as reference

FIGURES = st.floats(0, 1, allow_subnormal=False)
SETTINGS = st.builds(
    AlertSettings,
    releases=st.integers(6, 12),
    at_least=st.integers(1, 6),
    factor=st.floats(0, 5),
    relative=st.floats(0, 1),
    absolute=st.floats(0, 0.5),
)
RECALL = {"outcome": "recalled", "run_id": "recalled__stays", "recorded_at": "2026-03-02T09:00:00+00:00"}
GIVEN_UP = {**RECALL, "outcome": "given-up", "run_id": "given-up__stays", "release_id": None}
alerts_of = partial(module.alerts_of, smallest=1)
STEADY = [0.30, 0.31, 0.29, 0.30, 0.32, 0.28]


def kinds(alerts):
    return [alert.kind for alert in alerts]


def releases():
    """Give histories with gaps, other outcomes, and changes of the job."""
    one = st.builds(
        entry_of,
        sequence=st.integers(1, 99),
        outcome=st.sampled_from(["released", "released", "released", "refused", "failed"]),
        job_sha256=st.sampled_from([JOB_SHA256] * 6 + [OTHER_SHA256]),
        information_loss=st.none() | FIGURES,
        suppressed_share=st.none() | FIGURES,
    )
    return st.lists(one, max_size=25)


@given(st.lists(FIGURES, min_size=1, max_size=20), SETTINGS)
def test_band_is_median_and_scaled_deviation(figures, settings):
    band = band_of(figures, settings)
    exact = reference.band(figures, settings.factor, settings.relative, settings.absolute)
    assert (band.lower, band.center, band.upper) == pytest.approx([float(end) for end in exact], abs=1e-12)


@given(releases(), SETTINGS, FIGURES, FIGURES)
def test_alarms_exactly_outside_of_the_band(history, settings, loss, share):
    entry = entry_of(information_loss=loss, suppressed_share=share)
    expected, undecided = set(), set()
    for kind, column, figure in (("loss", "information_loss", loss), ("suppression", "suppressed_share", share)):
        figures = reference.learnt_from(history, JOB_SHA256, column, settings.releases)
        if len(figures) < settings.at_least:
            continue
        lower, _, upper = reference.band(figures, settings.factor, settings.relative, settings.absolute)
        if min(abs(figure - lower), abs(figure - upper)) < 1e-12:
            undecided.add(kind)  # rounding decides at the very edge
        elif not lower <= figure <= upper:
            expected.add(kind)
    assert set(kinds(alerts_of(entry, history, settings))) - undecided == expected


@given(st.lists(FIGURES, min_size=5, max_size=20), st.data())
def test_one_outlier_in_the_history_stays_inside_what_the_others_span(figures, data):
    """The median and the MAD of n figures, one of them replaced by anything, stay within the range of the others."""
    position = data.draw(st.integers(0, len(figures) - 1))
    others = figures[:position] + figures[position + 1 :]
    outlier = data.draw(st.floats(-1e6, 1e6))
    band = band_of([*others, outlier], AlertSettings(relative=0, absolute=0))
    assert min(others) <= band.center <= max(others)
    spread = max(others) - min(others)
    assert band.upper - band.center <= 3 * 1.4826 * spread + 1e-9


def test_a_constant_history_does_not_alarm_on_noise():
    history = history_of([0.3] * 10)
    assert alerts_of(entry_of(information_loss=0.325), history) == []
    assert kinds(alerts_of(entry_of(information_loss=0.335), history)) == ["loss"]
    assert kinds(alerts_of(entry_of(information_loss=0.265), history)) == ["loss"]


def test_small_shares_have_an_absolute_floor():
    history = history_of([0.001] * 10, "suppressed_share")
    assert alerts_of(entry_of(suppressed_share=0.0105), history) == []
    assert kinds(alerts_of(entry_of(suppressed_share=0.0115), history)) == ["suppression"]


def test_four_releases_are_too_few():
    unusual = entry_of(information_loss=0.9)
    assert alerts_of(unusual, history_of(STEADY[:4])) == []
    assert kinds(alerts_of(unusual, history_of(STEADY[:5]))) == ["loss"]


def test_a_changed_job_begins_anew():
    """Five releases of the job as it is, then the change: those before do not count, even if it was the same once."""
    unusual = entry_of(information_loss=0.9)
    other = entry_of(50, job_sha256=OTHER_SHA256)
    same = history_of(STEADY)
    assert kinds(alerts_of(unusual, [*same[:5], other])) == ["loss"]
    assert alerts_of(unusual, [*same[:4], other, *same]) == []


def test_only_the_last_releases_count():
    """Twenty nights at 0.5 after many at 0.3: 0.3 is unusual now, and 0.5 is not."""
    history = history_of([0.5] * 20 + [0.3] * 40)
    assert kinds(alerts_of(entry_of(information_loss=0.3), history)) == ["loss"]
    assert alerts_of(entry_of(information_loss=0.5), history) == []


def test_withheld_shares_are_not_judged():
    history = history_of([0.0, None, 0.0, 0.0, None, 0.0, 0.0], "suppressed_share")
    assert alerts_of(entry_of(suppressed_share=None), history) == []
    assert kinds(alerts_of(entry_of(suppressed_share=0.5), history)) == ["suppression"]


@pytest.mark.parametrize(("smallest", "kinds_of"), [(20, ["suppression"]), (21, []), (None, [])])
def test_a_share_of_few_records_is_not_told(smallest, kinds_of):
    """20 of 1,000 records are suppressed, where none were before; nor is it told where the bound is not known."""
    history = history_of([0.0] * 10, "suppressed_share")
    unusual = entry_of(suppressed=20, suppressed_share=0.02)
    assert kinds(module.alerts_of(unusual, history, smallest=smallest)) == kinds_of


def test_an_unknown_job_hash_has_no_band():
    history = [entry_of(sequence, job_sha256=None) for sequence in range(9)]
    assert alerts_of(entry_of(job_sha256=None, information_loss=0.9), history) == []


def test_margin_is_off_unless_a_threshold_is_set():
    entry = entry_of(privacy_margin=0.04)
    assert alerts_of(entry, []) == []
    assert kinds(alerts_of(entry, [], AlertSettings(margin_below=0.05))) == ["margin"]
    assert alerts_of(entry, [], AlertSettings(margin_below=0.04)) == []
    assert alerts_of(entry_of(privacy_margin=None), [], AlertSettings(margin_below=0.05)) == []


@pytest.mark.parametrize("outcome", ["refused", "failed"])
def test_an_attempt_without_a_release_is_one_alert_with_its_reason(outcome):
    entry = entry_of(7, outcome=outcome, release_id=None, privacy_margin=0.0, information_loss=9.0)
    reason = Reason(task="validate", error="AirflowFailException", message="2-diversity does not hold")
    settings = AlertSettings(margin_below=0.5)
    (alert,) = alerts_of(entry, history_of(STEADY), settings, reason=reason)
    assert (alert.kind, alert.job, alert.sequence) == (outcome, "stays", 7)
    assert "in task validate, nothing was published: 2-diversity does not hold" in alert.text


def test_text_names_the_run_the_figure_and_what_is_usual():
    (alert,) = alerts_of(entry_of(information_loss=0.9), history_of(STEADY))
    for part in ("Job stays", "20260301T024500Z-0123abcd", "DAG stays", "run run-100", " 0.9,", "6 releases", "100"):
        assert part in alert.text


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        ({"margin_below": 1.5}, "0 to 1"),
        ({"margin_below": float("nan")}, "0 to 1"),
        ({"at_least": 0}, "at least 1"),
        ({"releases": 4}, "at least 5"),
        ({"factor": -1.0}, "at least 0"),
        ({"relative": -0.1}, "at least 0"),
        ({"absolute": -0.1}, "at least 0"),
    ],
)
def test_a_setting_outside_its_range_is_named(setting, allowed):
    with pytest.raises(ValueError, match=f"{next(iter(setting))} is .* {allowed}"):
        AlertSettings(**setting)


def test_what_readers_had_and_somebody_changed_is_an_alert():
    """Of a release and of a refused attempt; what cannot be told, or is in order, is none."""
    fine = Delivered(sequence=6, release_id="r6", files="matches", link="unreachable", table="not-recorded")
    assert alerts_of(entry_of(), [], delivered=fine) == []
    changed = fine.model_copy(update={"link": "missing", "table": "changed"})
    assert kinds(alerts_of(entry_of(), [], delivered=changed)) == ["tampered", "tampered"]
    refused = alerts_of(entry_of(outcome="refused"), [], delivered=changed)
    assert kinds(refused) == ["refused", "tampered", "tampered"]
    assert "release r6, entry 6: changed" in refused[2].text


def test_another_level_than_in_the_release_before_is_an_alert():
    changed = {"age": {"before": 1, "now": 3}}
    found = alerts_of(entry_of(), [], series=Series(name="stays", release_id="r", levels_changed=changed))
    assert kinds(found) == ["levels"]
    assert "age from 1 to 3" in found[0].text
    for same in {}, None:
        assert alerts_of(entry_of(), [], series=Series(name="stays", release_id="r", levels_changed=same)) == []


def test_persons_who_are_withheld_are_an_alert_above_a_share():
    series = Series(name="stays", release_id="r", held_back_share=0.02, covered_share=0.04)
    assert alerts_of(entry_of(), [], series=series) == []
    assert kinds(alerts_of(entry_of(), [], AlertSettings(withheld_above=0.05), series=series)) == ["withheld"]
    few = series.model_copy(update={"held_back_share": None, "covered_share": None})
    assert alerts_of(entry_of(), [], AlertSettings(withheld_above=0.0), series=few) == []


def test_a_recall_is_told_until_something_is_released():
    before, recall = entry_of(7), entry_of(8, **RECALL)
    for outcome, kind in (("failed", ["failed", "recalled"]), ("refused", ["refused", "recalled"])):
        assert kinds(alerts_of(entry_of(9, outcome=outcome), [before], notices=[recall])) == kind
    (alert,) = alerts_of(entry_of(10), [before], notices=[recall])
    assert (alert.kind, alert.sequence, alert.job) == ("recalled", 8, "stays")
    assert "release 20260301T024500Z-0123abcd" in alert.text
    assert alerts_of(entry_of(11), [entry_of(10), before], notices=[recall]) == []


def test_a_release_that_readers_do_not_get_is_told_until_the_newer_one_is_recalled():
    """A clock ran ahead: without a word each night would be green, and readers would have one release for years."""
    ahead = entry_of(7, release_id="20280229T024500Z-0123abcd")
    tonight = entry_of(9)
    (alert,) = alerts_of(tonight, [ahead])
    assert alert.kind == "older"
    assert "20280229T024500Z-0123abcd, which readers keep" in alert.text
    assert alerts_of(tonight, [entry_of(8, dag_id="elsewhere", release_id=ahead.release_id)]) == []
    assert alerts_of(entry_of(9, outcome="failed"), [ahead])[0].kind == "failed"
    recall = entry_of(8, **{**RECALL, "release_id": ahead.release_id})
    assert kinds(alerts_of(tonight, [ahead], notices=[recall])) == ["recalled"]


def test_a_recall_after_the_last_attempt_is_told_at_once():
    assert kinds(alerts_of(entry_of(7), [entry_of(6)], notices=[entry_of(8, **RECALL)])) == ["recalled"]


def test_a_recall_itself_is_no_failed_attempt():
    assert kinds(alerts_of(entry_of(8, **RECALL), [entry_of(7)])) == ["recalled"]


def test_a_share_that_was_given_up_is_told_until_something_is_released():
    before, said = entry_of(7), entry_of(8, **GIVEN_UP)
    assert kinds(alerts_of(entry_of(9, outcome="failed"), [before], notices=[said])) == ["failed", "given-up"]
    (alert,) = alerts_of(entry_of(10), [before], notices=[said])
    assert (alert.kind, alert.sequence, alert.job) == ("given-up", 8, "stays")
    assert "releases in one of its shares were given up as gone for good on 2026-03-02 09:00:00 UTC:" in alert.text
    assert alerts_of(entry_of(11), [entry_of(10), before], notices=[said]) == []
    assert kinds(alerts_of(said, [before])) == ["given-up"]


def test_recalls_are_of_the_same_job_and_dag():
    entry = entry_of(9)
    others = [entry_of(6, **RECALL, job="other"), entry_of(7, **RECALL, dag_id="other"), entry_of(5, outcome="removed")]
    assert [one.sequence for one in module.notices_of(entry, [*others, entry_of(8, **RECALL)])] == [8]
    assert [one.sequence for one in module.notices_of(entry, [*others, entry_of(9, **GIVEN_UP)])] == [9]
