"""Values and small functions that every room may use; they import no other room.

`model` has the link, the outcome and the exchange of a download; `names` the paths that components had before;
`outputs` and `page_change` the values of outputs and revisits; `ports`, `credentials`, `surt`, `digest`, `dates`,
`percent_encoding` and `quantities` are rules and forms of text; `loading`, `cannot_start` and `resource_exhaustion`
turn settings into objects and name the errors of a start and of a full machine.
"""
