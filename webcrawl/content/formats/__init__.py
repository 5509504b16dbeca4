"""Links and texts of documents other than HTML.

`sniffing` tells formats apart, and `document_reader` finds the links of any of them. `listings`
reads sitemaps and feeds, `markdown` Markdown, `xml_stream` other XML within bounds, and `pdf` and
`office` such files in processes of their own.
"""
