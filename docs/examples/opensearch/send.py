"""Sends the pages of a crawl to OpenSearch, and takes out those that are gone.

    python send.py JOBDIR http://localhost:9200/pages

It reads the finished files of OUTPUTS=text (or index), which no crash takes back, while the crawl
runs or afterwards. Run it again whenever you like: it goes on where it came to. What is sent twice
does no harm: a page's URL is its identifier and the time of its fetch its version. OPENSEARCH_AUTH
has user:password, if they are needed.
"""

import base64
import gzip
import hashlib
import json
import os
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime
from pathlib import Path

BYTES = 5_000_000  # of one request, about
WAITS = (1, 2, 4, 8, 16, 32, 64)  # seconds, while the server is away or has too much to do
FIELDS = ("url", "title", "headings", "text", "language", "type", "fetched_at", "digest")
MAPPING = {
    **{
        name: {"type": "keyword", "ignore_above": 8000}
        for name in ("url", "language", "type", "digest")
    },
    **{name: {"type": "text"} for name in ("title", "headings", "text")},
    "fetched_at": {"type": "date"},
}
# a later state is there already; it never was there
HARMLESS = {("index", 409), ("delete", 409), ("delete", 404)}


def main(jobdir, index):
    # 400: it exists
    ask(index, "PUT", json.dumps({"mappings": {"properties": MAPPING}}).encode(), also=400)
    place = Path(jobdir) / "opensearch.json"
    sent = json.loads(place.read_text()) if place.exists() else 0  # the number of the next page
    refused, batch, size = 0, [], 0
    for line in lines(jobdir, sent):
        batch.append(action(line))
        sent = line["ordinal"] + 1
        size += len(batch[-1])
        if size >= BYTES:
            refused += send(index, batch, place, sent)
            batch, size = [], 0
    refused += send(index, batch, place, sent)
    print(f"{index}: {sent} lines sent so far, {refused} refused now")
    return 1 if refused else 0


def lines(jobdir, first):
    """Those of finished files, from this number on."""
    for path in sorted(Path(jobdir, "text").glob("text-*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            yield from (line for line in map(json.loads, file) if line["ordinal"] >= first)


def action(line):
    """A page as it is now; one without text is gone, or no page any more."""
    version = round(datetime.fromisoformat(line["fetched_at"]).timestamp() * 1000)
    about = {
        "_id": hashlib.sha256(line["url"].encode()).hexdigest(),
        "version": version,
        "version_type": "external_gte",
    }
    if not line["text"]:
        return json.dumps({"delete": about}) + "\n"
    return (
        json.dumps({"index": about})
        + "\n"
        + json.dumps({name: line[name] for name in FIELDS})
        + "\n"
    )


def send(index, batch, place, sent):
    """Sends a batch until the server has taken or refused all of it, and notes that; returns how
    many it refused.
    """
    refused = 0
    for wait in (*WAITS, None):
        answer = ask(f"{index}/_bulk", "POST", "".join(batch).encode()) if batch else {"items": []}
        again = []
        for one, item in zip(batch, answer["items"], strict=True):
            ((kind, result),) = item.items()
            if result["status"] == 429:
                again.append(one)
            elif result["status"] >= 300 and (kind, result["status"]) not in HARMLESS:
                refused += 1
                print(f"{one[:300]}: {result.get('error')}", file=sys.stderr)
        batch = again
        if not batch:
            break
        if wait is None:
            sys.exit(f"{index}: too much to do; run this again later")
        time.sleep(wait)
    scratch = place.with_suffix(".new")
    scratch.write_text(json.dumps(sent))
    scratch.replace(place)
    return refused


def ask(url, method, body, also=200):
    headers = {"Content-Type": "application/x-ndjson" if method == "POST" else "application/json"}
    if os.environ.get("OPENSEARCH_AUTH"):
        headers["Authorization"] = (
            "Basic " + base64.b64encode(os.environ["OPENSEARCH_AUTH"].encode()).decode()
        )
    for wait in (*WAITS, None):
        try:
            request = urllib.request.Request(url, body, headers, method=method)
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == also:
                return {}
            if error.code not in (429, 502, 503, 504):
                sys.exit(f"{url}: {error.code}: {error.read(500).decode(errors='replace')}")
            why = error
        except OSError as error:
            why = error
        if wait is None:
            sys.exit(f"{url}: {why}; run this again later")
        time.sleep(wait)
    return None


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2].rstrip("/")))
