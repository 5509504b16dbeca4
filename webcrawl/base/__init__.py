"""Values and small functions that every room may use; they import no other room.

`model` has the link, the outcome and the exchange of a download; `outputs` and `page_values` the
values of outputs and pages; `settings` the table of settings; `surt`, `digest`, `dates`,
`url_text`, `readable`, `numbers` and `markup` are rules and forms of text; `loading` turns settings
into objects, and `errors` names those of a start and of a full machine.
"""
