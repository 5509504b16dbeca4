"""The last unexpected errors, from a file that may be of any size and in any state."""

from webcrawl.store.jobdir.log_lines import ERROR_LINES, ERRORS_TAIL, last_errors


def write(folder, text):
    (folder / "logs").mkdir()
    (folder / "logs/errors.log").write_bytes(text.encode() if isinstance(text, str) else text)


def entry(number, lines=2):
    trace = "".join(f'  File "x.py", line {line}\n' for line in range(lines))
    head = f"2026-11-21 20:00:{number % 60:02},123 some.logger: error {number}"
    return f"{head}\nTraceback:\n{trace}ValueError: {number}\n"


def test_the_latest_first(tmp_path):
    """So many as are asked for, each with its traceback."""
    write(tmp_path, entry(1) + entry(2) + entry(3))
    found = last_errors(tmp_path, 2)

    assert [one.splitlines()[-1] for one in found] == ["ValueError: 3", "ValueError: 2"]
    assert len(last_errors(tmp_path, 100)) == 3


def test_long_ones(tmp_path):
    """Of a long traceback the first line and the last ones are given."""
    write(tmp_path, entry(1, 500))
    (found,) = last_errors(tmp_path, 5)

    lines = found.splitlines()
    assert (len(lines), lines[0][-7:], lines[1], lines[-1]) == (ERROR_LINES, "error 1", "  ...", "ValueError: 1")


def test_a_large_file(tmp_path):
    """Only its end is read, and an entry whose beginning is not in there is left out."""
    write(tmp_path, "".join(entry(number) for number in range(5000)))
    found = last_errors(tmp_path, 10_000)

    assert 100 < len(found) < 5000
    assert all("ValueError" in one for one in found)
    assert sum(map(len, found)) <= ERRORS_TAIL


def test_without_a_file_there_are_no_errors(tmp_path):
    """Without a file there are none, and bytes that are no text do no harm."""
    assert last_errors(tmp_path, 5) == []
    write(tmp_path, b"\xff\xfe\x00 broken" * 100)
    assert len(last_errors(tmp_path, 5)) == 1
