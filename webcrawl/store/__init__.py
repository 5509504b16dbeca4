"""The crawl's state on disk: crawl.db, its checkpoint, fingerprint files, outputs, locks.

`crawldb.CrawlDB` holds the transaction, `outputs.Outputs` the files that a checkpoint notes, `runs`
sorted fingerprints, `disk.Disk` all writing. `jobdir` is the model of what lies in a JOBDIR.
"""
