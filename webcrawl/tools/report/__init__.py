"""The report of a crawl: `report_source` reads a JOBDIR, and `report_page` makes the page."""
