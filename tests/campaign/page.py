"""The page of a campaign, made of its results."""

from tests.campaign.pieces import FAMILIES
from webcrawl.tools.report.charts import COLOURS, PlotLine, plot_file

HEAD = """# Campaign

For maintainers, and for readers who want to know what has been tested: results of the programs that kill, break and
starve crawls for hours. After each fault nothing may be lost or kept twice, and no message may be wrong.
[checkpoints-and-crashes.md](checkpoints-and-crashes.md#what-was-tried) says what each program checks.

```
$ python -m tests.campaign FOLDER                    # run it again to continue
$ python -m tests.campaign FOLDER --only kills hives --hours 2 --at-once 4
$ python -m tests.campaign FOLDER --piece kills/17   # one piece, again
$ python -m tests.campaign FOLDER --page docs/campaign.md
```

A piece is one program with one seed. Its result is a line of `results.jsonl` in the folder, and its output a file in
`said/`. A piece that has a result is not repeated. The last command writes this page and,
with the results, [campaign.jsonl](campaign.jsonl).
"""
PLOT = "![Share of the URLs that are finished at each kill, of three crawls](campaign.svg)"
TABLE = "| what | done | pieces | without a fault | sums | minutes |\n|---|---|---|---|---|---|\n"


def plot_of_kills(results):
    """Return an SVG of how far crawls came between kills, or "" if none was killed.

    It shows the crawl that repeated least, the one that repeated most, and one between.
    """
    killed = [result for result in results if result.figures.get("at_kills") and not result.status]
    if not killed:
        return ""
    killed.sort(key=_repeated)
    shown = {id(one): one for one in (killed[0], killed[len(killed) // 2], killed[-1])}.values()
    lines = [
        PlotLine(f"{_repeated(one):.2f} times", _points(one.figures), colour)
        for one, colour in zip(shown, COLOURS[2:], strict=False)
    ]
    most = max(len(one.figures["at_kills"]) for one in shown)
    labels = [(number / (most + 1), str(number)) for number in range(1, most + 1)]
    title = "URLs finished in the last checkpoint before each kill"
    return plot_file(title, lines, [*labels, (1.0, "end")], "kill")


def _repeated(result):
    """Return how many times the requests of an uninterrupted crawl a killed one made."""
    return result.figures["requests"] / result.figures["requests_untouched"]


def _points(figures):
    at_kills, urls = figures["at_kills"], figures["urls"]
    finished = [0, *at_kills, urls]
    return [(number / (len(at_kills) + 1), count / urls) for number, count in enumerate(finished)]


def page(results):
    """Return the text of the page; `results` are the last ones of all pieces."""
    ended = sorted(results, key=lambda result: result.begun)
    parts = [
        HEAD,
        f"## Results\n\n{_span(ended)}\n\n{TABLE}{''.join(_row(family, ended) for family in FAMILIES)}",
    ]
    if wrong := [result for result in ended if result.status]:
        parts.append("## What did not hold\n\n" + "".join(map(_fault, wrong)))
    if plot_of_kills(ended):
        parts.append(f"{PLOT}\n")
    return "\n".join(parts)


def _span(ended):
    if not ended:
        return "None yet."
    commits = {result.commit for result in ended}
    first, last = ended[0].begun[:10], ended[-1].begun[:10]
    dates = first if first == last else f"{first} to {last}"
    return f"{dates}, {len(ended)} pieces at {len(commits)} commits."


def _row(family, ended):
    """Return the row of a family of pieces in the table."""
    mine = [result for result in ended if result.piece.partition("/")[0] == family.name]
    held = [result for result in mine if not result.status]
    counted = len(held)
    if family.counted:
        counted = sum(result.figures.get(family.counted, 0) for result in held)
    wanted = family.wanted or family.pieces
    sums = {
        name: sum(result.figures.get(name, 0) for result in held) for name in family.shown if held
    }
    said = ", ".join(f"{name} {value:,}" for name, value in sums.items()) or "-"
    minutes = sum(result.seconds for result in mine) / 60
    return (
        f"| {family.what} (`{family.name}`) | {counted:,} of {wanted:,} | {len(mine)} of {family.pieces} | {len(held)} "
        f"| {said} | {minutes:.0f} |\n"
    )


def _fault(result):
    return f"- `{result.piece}` at {result.commit} (`python -m {result.command}`): `{result.why.replace('`', '')}`\n"
