"""WARC archives: `capture` and `warc_writer` write them, and `reader` reads those of anybody."""
