"""The file of a segment, which is a seed list."""

from contextlib import closing

import pytest

from tests.tools.segments.test_pool import opened
from webcrawl.base.model import Link
from webcrawl.store.disk import Disk
from webcrawl.tools.segments.segment import copied, cut
from webcrawl.urls.seeds import Seeds
from webcrawl.urls.seeds.seed_source import Found

LINKS = [
    Link("http://a.test/1", "LlR", "http://b.test/x", "http://s.test/", chain=".1f~aGk="),
    Link('http://a.test/2?q="x",y', "L", "http://a.test/,", "http://s.test/"),
    Link("http://b.test/", seed="http://b.test/"),
]


def made(folder, links):
    db, pool = opened(folder)
    with closing(db):
        pool.add([link.pack() for link in links])
        cut(pool, Disk(), folder / "segment.csv", 100, 1)
    return folder / "segment.csv"


def read(path):
    with closing(Seeds(str(path))) as seeds:
        return [*seeds], seeds.bad


def test_a_segment_is_read_as_seeds(tmp_path):
    """Each URL brings how it was found: depth, page, seed, cookies of a redirect; a seed is a seed again."""
    found, bad = read(made(tmp_path, LINKS))

    assert bad == 0
    assert [seed.url for seed in found] == [link.url.replace('"', "%22") for link in LINKS]
    assert [seed.found for seed in found] == [
        Found("LlR", "http://b.test/x", "http://s.test/", ".1f~aGk="),
        Found("L", "http://a.test/,", "http://s.test/", ""),
        None,
    ]


def test_its_columns(tmp_path):
    """Rank, URL, and how it was found, under a header that any reader of CSV understands."""
    assert made(tmp_path, LINKS).read_text() == (
        "rank,url,path,via,seed,chain\n"
        "1,http://a.test/1,LlR,http://b.test/x,http://s.test/,.1f~aGk=\n"
        '2,"http://a.test/2?q=""x"",y",L,"http://a.test/,",http://s.test/,\n'
        "3,http://b.test/,,,,\n"
    )


@pytest.mark.parametrize(
    "row",
    [
        "1,http://a.test/,L,,http://s.test/,",
        "1,http://a.test/,X,http://b.test/,http://s.test/,",
        "1,http://a.test/,L,b.test,http://s.test/,",
        "1,http://a.test/,L,http://b.test/,a b,",
        "1,http://a.test/,L,http://b.test/,,%%",
        "1,http://a.test/,L,http://b.test/",
        "1,mailto:a@b.test,L,http://b.test/,,",
    ],
)
def test_a_row_that_says_it_wrongly_is_a_bad_line(tmp_path, row):
    """It is counted and logged like any other, and what follows is read."""
    path = tmp_path / "s.csv"
    path.write_text(f"rank,url,path,via,seed,chain\n{row}\n2,http://good.test/,,,,\n")

    found, bad = read(path)

    assert ([seed.url for seed in found], bad) == (["http://good.test/"], 1)


def test_other_lists_have_no_such_columns(tmp_path):
    """A header with only some of their names is that of an ordinary list."""
    path = tmp_path / "s.csv"
    path.write_text("url,path,seed\nhttp://a.test/,??,!!\n")

    assert read(path)[0][0].found is None


def test_a_copy_is_whole_or_not_there(tmp_path):
    """An old file of that name is replaced; without a segment by one without rows."""
    source, target = made(tmp_path, LINKS), tmp_path / "out" / "s.csv"
    target.parent.mkdir()
    target.write_text("old")

    copied(source, target)
    assert target.read_bytes() == source.read_bytes()
    copied(None, target)
    assert target.read_text() == "rank,url,path,via,seed,chain\n"
    assert [path.name for path in target.parent.iterdir()] == ["s.csv"]
