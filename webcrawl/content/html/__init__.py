"""Links and text of HTML.

`link_reader` finds the links and `shown_text` the text in the trees of `trees`, within the bounds
of `tree_guard`. `encodings` decodes a body, and `text_language` names the language of a text.
"""
