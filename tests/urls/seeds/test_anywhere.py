"""Any list, stopped anywhere, compared with what its lines are known to mean."""

import tempfile
from contextlib import closing
from pathlib import Path
from unittest import mock

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.seedlists import write
from webcrawl.urls.seeds import Seed, Seeds, seed_reader, seed_source

BAD, NONE = "bad", None
LABELS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=6)
DOMAINS = st.builds("{}.example".format, LABELS)


@st.composite
def csv_lines(draw):
    """A line of a csv list, and the URL that it stands for, BAD or NONE."""
    domain = draw(DOMAINS)
    return draw(
        st.sampled_from(
            [
                (f"1,{domain}", f"http://{domain}/"),
                (f'"1","{domain}","x,y"', f"http://{domain}/"),
                (f"1,https://{domain}/é#x", f"https://{domain}/%C3%A9"),
                (f'1,"{domain}', BAD),
                ("1", BAD),
                ("", NONE),
                (" ", NONE),
                ("1,\udce9" + domain, BAD),
                ("2,\x00" + "x" * 30, BAD),
                ("3," + "y" * 400, BAD),
            ]
        )
    )


@st.composite
def text_lines(draw):
    """A line of a text list, and the URL that it stands for, BAD or NONE."""
    domain = draw(DOMAINS)
    return draw(
        st.sampled_from(
            [
                (domain, f"http://{domain}/"),
                (f" https://{domain}/ü?q#f\t", f"https://{domain}/%C3%BC?q"),
                (f"# {domain}", NONE),
                ("", NONE),
                ("two words", BAD),
                ("\udce9" + domain, BAD),
                ("\x00" + "x" * 30, BAD),
                ("y" * 400, BAD),
            ]
        )
    )


@st.composite
def lists(draw):
    """A name, the bytes of a list, its seeds, and the number of its bad lines."""
    kind, line = draw(st.sampled_from([("csv", csv_lines()), ("txt", text_lines())]))
    start = {"csv": ("1,a.example", "http://a.example/"), "txt": ("a.example", "http://a.example/")}
    drawn = [*[start[kind]] * 5, *draw(st.lists(line, max_size=25))]
    # with more of them the list may be binary
    assume(sum("\x00" in written for written, _ in drawn) <= 2)
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = end.join(written for written, _ in drawn) + draw(st.sampled_from(["", end]))
    coding, wrong = draw(
        st.sampled_from(
            [
                ("utf-8", "surrogateescape"),
                ("utf-8-sig", "surrogateescape"),
                ("utf-16", "surrogatepass"),
            ]
        )
    )
    name = f"s.{kind}" + draw(st.sampled_from(["", ".gz", ".zip"]))
    seeds = [Seed(url, n) for n, (_, url) in enumerate(drawn, 1) if url not in (BAD, NONE)]
    return name, text.encode(coding, wrong), seeds, sum(url == BAD for _, url in drawn)


class TestResuming:
    @examples(200)
    @given(lists(), lists(), st.integers(128, 500), st.integers(100, 900), st.data())
    def test_the_rest_comes_exactly_once(self, one, two, block, longest, data):
        """Reading that stops after any seed and is resumed repeats no seed, loses none, and keeps
        each line number.
        """
        small = (
            mock.patch.multiple(seed_source, BLOCK=block),
            mock.patch.multiple(seed_reader, LONGEST_LINE=longest),
        )
        with tempfile.TemporaryDirectory() as folder, small[0], small[1]:
            paths = [
                write(Path(folder) / f"{n}{each[0]}", each[1]) for n, each in enumerate((one, two))
            ]
            expected = one[2] + two[2]
            stop = data.draw(st.integers(0, len(expected)))

            with closing(Seeds(",".join(map(str, paths)))) as seeds:
                before = [next(seeds) for _ in range(stop)]
                position = seeds.position
            with closing(Seeds(",".join(map(str, paths)))) as seeds:
                seeds.resume(position)
                assert position == seeds.position
                rest = list(seeds)

            assert expected == before + rest
            assert (len(expected), one[3] + two[3]) == (seeds.taken, seeds.bad)
