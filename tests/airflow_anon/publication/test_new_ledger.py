"""A ledger that is not the one of the releases in the share: a new file where the volume of the old one should be."""

from __future__ import annotations

import shutil

import pytest
from airflow.providers.common.compat.sdk import AirflowException
from sqlalchemy import create_engine, text

from airflow_anon.ledger import Ledger
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main as ledger_main
from airflow_anon.run.release_id import release_id
from tests.airflow_anon.publication.publishing import Staged, run_context
from tests.airflow_anon.publication.test_review import world

__all__ = ["world"]


@pytest.fixture
def unmounted(world, monkeypatch):
    """Give what puts the ledger of the first release back; the file is gone, and its folder is there."""
    file = world.folder / "ledger.sqlite"
    file.rename(world.folder / "away.sqlite")
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{world.folder}/./ledger.sqlite")  # one that was never opened

    def mount():
        file.unlink(missing_ok=True)
        (world.folder / "away.sqlite").rename(file)
        monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{world.folder}/.//ledger.sqlite")

    return mount


def readers_have(world):
    """Give what readers get: the release that `current` names, and those that the books of the table have."""
    link = world.share / "current"
    return (
        link.readlink().name if link.is_symlink() else None,
        world.booked() if "table" in world.output else set(),
    )


@pytest.mark.parametrize("world", ["folder", "table", "both"], indirect=True)
def test_nothing_is_published_until_the_ledger_of_the_releases_is_back(world, unmounted):
    before = readers_have(world)
    for _ in range(2):  # the entry of a failed attempt makes no other ledger of it
        with pytest.raises(AirflowException, match=r"has none of job stays: .*Mount or name theirs.*To begin a new"):
            world.publish()
        assert world.record() == "failed"
        assert readers_have(world) == before
    unmounted()
    world.publish()
    assert world.outcomes() == ["released", "released"]
    assert ledger_main(["verify", "--files"]) == 0


@pytest.mark.parametrize("world", ["folder", "table", "both"], indirect=True)
@pytest.mark.usefixtures("unmounted")
def test_a_new_ledger_is_begun_by_taking_the_old_releases_out_of_the_share(world):
    """What the error says is done, and no more."""
    if "path" in world.output:
        shutil.move(world.share, world.folder / "of the old ledger")
    if "table" in world.output:
        engine = create_engine(f"sqlite:///{world.folder}/research.db")
        with engine.begin() as connection:
            for table in ("stays", "stays_release"):
                connection.execute(text(f"DELETE FROM {table}"))
        engine.dispose()
    world.publish()
    assert [entry.release_id for entry in open_ledger().entries()] == [world.today]
    assert ledger_main(["verify", "--files"]) == 0


def test_a_further_share_counts_as_well(tmp_path, monkeypatch):
    def output(first):
        return {"path": str(tmp_path / first), "also": [str(tmp_path / "second")]}

    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/old.sqlite")
    Staged(tmp_path / "1").publish(output("first"), run_context(1))
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/new.sqlite")
    with pytest.raises(AirflowException, match=rf"{tmp_path}/second/stays: has releases"):
        Staged(tmp_path / "2").publish(output("other"), run_context(2))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("step", ["complete", "begin"])
def test_the_first_publication_that_was_cut_off_is_begun_again(tmp_path, monkeypatch, step):
    """Its release may be in the share already, and has its row in the ledger."""
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/ledger.sqlite")
    output = {"path": str(tmp_path / "share")}
    staged = Staged(tmp_path / "1")

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, step, killed)
        with pytest.raises(KeyboardInterrupt):
            staged.publish(output, run_context(1))
    staged.publish(output, run_context(1))
    assert (tmp_path / "share/stays/current").readlink().name == release_id(run_context(1))
