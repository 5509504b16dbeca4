"""By what the drones of one hive recognise each other before it is founded."""

from types import SimpleNamespace

from webcrawl.adapter.hive_membership import seed_digests


def digests(seeds):
    return set(seed_digests(SimpleNamespace(seed_lists=str(seeds))))


def test_the_same_words(tmp_path, monkeypatch):
    """Machines may have downloaded a list at different times."""
    monkeypatch.chdir(tmp_path)
    before = digests("top.csv,https://a.test/")
    (tmp_path / "top.csv").write_text("1,a.test\n")
    first = digests(tmp_path / "top.csv")
    (tmp_path / "top.csv").write_text("1,b.test\n")

    assert len(before) == 1
    assert digests("top.csv,https://a.test/") != before
    assert first & digests("top.csv")


def test_the_same_lists_elsewhere(tmp_path):
    """A list may have another path on each machine."""
    for name in ("one", "two"):
        (tmp_path / name).write_text("a.test\n")

    assert digests(tmp_path / "one") & digests(tmp_path / "two")


def test_other_lists(tmp_path, monkeypatch):
    """Lists of two hives may have the same name in two folders."""
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "seeds.txt").write_text(f"{name}.test\n")
        monkeypatch.chdir(tmp_path / name)
        found.append(digests("seeds.txt"))

    assert not found[0] & found[1]
    assert not digests("https://a.test/") & digests("https://b.test/")


def test_no_seeds():
    """A spider that begins in its own way says nothing of its seeds."""
    assert not digests("")
    assert not seed_digests(None)
