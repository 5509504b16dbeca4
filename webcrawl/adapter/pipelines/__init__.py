"""The outputs of a crawl as item pipelines, by the names in `OUTPUTS`; yours use `output`."""
