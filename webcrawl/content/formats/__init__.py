"""Links and texts of documents other than HTML.

`sniffing` tells formats apart, and `document_reader` finds the links of any of them. `listings`
reads sitemaps and feeds, `xml_stream` other XML within bounds, and `pdf` PDFs in a process of its
own.
"""
