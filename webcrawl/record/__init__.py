"""The record that a crawl leaves: archive, logs, tables, texts, statistics, and copies in stores.

Writing: `warc.warc_writer`, `tables.table_writer`, `fulltext.text_files`, `fulltext.text_index`,
`pagefiles`, `statistics`. Reading: `archives` (WARC files as answers), `packaged_answers` (a WACZ
package by URL), `warc.reader`, `fulltext.text_search`, `since` (what earlier crawls have).
`objectstore` brings finished files to other places.
"""
