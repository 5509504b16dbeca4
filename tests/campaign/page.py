"""The page of a campaign, made of its results."""

from collections import Counter

from tests.campaign.pieces import FAMILIES

HEAD = """# Campaign

For maintainers, and for whoever asks what has been tried. A campaign kills, breaks, starves and outlasts crawls for
hours; after each blow nothing may be lost or there twice, and nothing may be said that is not so:

    python -m tests.campaign FOLDER                    # also `just campaign FOLDER`; stopped and started as you like
    python -m tests.campaign FOLDER --only kills hives --hours 2
    python -m tests.campaign FOLDER --piece kills/17   # one piece, again
    python -m tests.campaign FOLDER --page docs/campaign.md

A piece is one program with one seed. What it ended with is a line of `results.jsonl` in the folder, what it said is in
`said/` beside it; a piece that has a line is not done again. [crashes.md](crashes.md) says what each program checks.
This page is made of the results, and [campaign.jsonl](campaign.jsonl) has them.
"""
TABLE = "| what | done | pieces | without a fault | sums | minutes |\n|---|---|---|---|---|---|\n"


def page(results):
    """The text of the page: `results` are the last ones of all pieces."""
    ended = sorted(results, key=lambda result: result.begun)
    parts = [
        HEAD,
        f"## Results\n\n{_span(ended)}\n\n{TABLE}{''.join(_row(family, ended) for family in FAMILIES)}",
    ]
    if wrong := [result for result in ended if result.status]:
        parts.append("## What did not hold\n\n" + "".join(map(_fault, wrong)))
    return "\n".join(parts)


def _span(ended):
    if not ended:
        return "None yet."
    commits = Counter(result.commit for result in ended)
    first, last = ended[0].begun[:10], ended[-1].begun[:10]
    dates = first if first == last else f"{first} to {last}"
    return f"{dates}, {len(ended)} pieces: " + ", ".join(
        f"{count} at {commit}" for commit, count in commits.items()
    )


def _row(family, ended):
    mine = [result for result in ended if result.piece.partition("/")[0] == family.name]
    held = [result for result in mine if not result.status]
    counted = (
        sum(result.figures.get(family.counted, 0) for result in held)
        if family.counted
        else len(held)
    )
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
