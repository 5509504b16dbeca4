"""The outputs of a crawl, one pipeline per file, by the names in `OUTPUTS`; yours use `output` and `ends`."""
