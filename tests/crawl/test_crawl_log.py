"""Who is told that a URL has ended, beside the log."""

from webcrawl.base.model import Link, Outcome, Status
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs


def test_hearers_are_told_of_every_line(tmp_path):
    """Each hearer gets link, outcome and exchange of every URL that ends, in the order of the log's
    lines.
    """
    db = CrawlDB(tmp_path)
    outputs = Outputs(db, tmp_path)
    log, heard = CrawlLog(outputs.open("logs/crawl.log")), []
    log.hearers.append(lambda *what: heard.append(what))
    fetched, refused = Link("http://a/"), Link("http://a/private")
    log.finished(fetched, Outcome(200), None, [])
    log.dropped(refused, Status.ROBOTS_FORBIDDEN)
    db.close()

    ends = [(link, outcome.status) for link, outcome, _ in heard]
    assert ends == [(fetched, 200), (refused, Status.ROBOTS_FORBIDDEN)]
