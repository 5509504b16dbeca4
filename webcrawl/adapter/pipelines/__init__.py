"""The outputs of a crawl as item pipelines of Scrapy, by the names in `OUTPUTS`; yours use
`output`.
"""
