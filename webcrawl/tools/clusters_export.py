"""Joins the near-duplicate clusters of documents in any number of files into one Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from webcrawl.content.near_clusters import JoinedClusters
from webcrawl.content.near_duplicates import Fingerprints
from webcrawl.record.tables.columns import SCHEMAS
from webcrawl.record.tables.parquet import batches, write_parquet
from webcrawl.store.disk import Disk
from webcrawl.tools.documents_export import remembered
from webcrawl.urls.exclusion_rules import Forgotten

SCHEMA = pa.schema(
    [SCHEMAS["documents"].field(name) for name in ("id", "url", "neardup", "cluster")]
)
COLUMNS_READ = ("id", "url", "neardup", "fetch_time")  # of the tables of documents


class ClusterFigures(NamedTuple):
    """The numbers of the summary."""

    documents: int
    compared: int  # documents with a fingerprint
    clusters: int


def write_clusters(
    tables: Sequence[Path], target: Path, scratch: Path, forgotten: Forgotten | None = None
) -> ClusterFigures:
    """Write the cluster of each document to `target`, which is renamed to its place when complete.

    Documents of `forgotten` are left out. `scratch` is a folder beside `target`.

    Raise ValueError if a file is not a table of documents.
    """
    for path in tables:
        _check_columns(path)
    clusters = JoinedClusters(scratch)
    compared = 0
    for batch in _batches(tables, forgotten):
        fingerprints = _fingerprints(batch)
        clusters.add(fingerprints)
        compared += len(fingerprints)
    clusters.join()
    unfinished = scratch / target.name
    batches_with_clusters = (
        _with_clusters(batch, clusters) for batch in _batches(tables, forgotten)
    )
    rows = write_parquet(Disk(), unfinished, SCHEMA, batches_with_clusters)[1]
    unfinished.replace(target)
    return ClusterFigures(rows, compared, clusters.count)


def _check_columns(path: Path) -> None:
    """Raise ValueError if the file is not a table of documents."""
    try:
        schema = pq.read_schema(path)
    except pa.ArrowException as error:
        raise ValueError(f"{path}: not a Parquet file: {error}") from error
    expected = SCHEMAS["documents"]
    for name in COLUMNS_READ:
        kind = expected.field(name).type
        if name not in schema.names or schema.field(name).type != kind:
            raise ValueError(
                f"{path}: has no column {name} of type {kind}: not the documents of a crawl "
                "(OUTPUTS=documents)"
            )


def _batches(tables: Sequence[Path], forgotten: Forgotten | None) -> Iterator[pa.RecordBatch]:
    for path in tables:
        for batch in batches(path, COLUMNS_READ):
            yield batch.filter(remembered(batch, forgotten)) if forgotten else batch


def _fingerprints(batch: pa.RecordBatch) -> Fingerprints:
    """Return the fingerprints in a batch. A short document has none."""
    fingerprints: Fingerprints = batch.column("neardup").drop_null().to_numpy()
    return fingerprints


def _with_clusters(batch: pa.RecordBatch, clusters: JoinedClusters) -> pa.RecordBatch:
    """Return the rows of a batch with their clusters; null for a document with no fingerprint."""
    has_fingerprint = batch.column("neardup").is_valid().to_numpy(zero_copy_only=False)
    values = np.zeros(batch.num_rows, np.uint64)
    values[has_fingerprint] = clusters.of(_fingerprints(batch))
    columns = [batch.column(name) for name in ("id", "url", "neardup")]
    return pa.RecordBatch.from_arrays(
        [*columns, pa.array(values, mask=~has_fingerprint)], schema=SCHEMA
    )
