"""The contents of downloaded bodies: nothing here asks the network or writes a file.

`page` has the item that pipelines get; `html` reads links, text and descriptions of documents,
`formats` sitemaps, feeds, XML and PDF, `image_headers` sizes by headers, `near_duplicates` finds
those of texts, `stated_preferences` owners' wishes.
"""
