"""The one model of what lies in a JOBDIR: a module per kind of record.

Each module has the writing, the reading and the checks of its record, and the words for its states.
`job_dir` opens a folder, and `snapshot` a checkpoint without the crawl.
"""
