"""Makes one Parquet file of the near-duplicate clusters of documents in any number of files."""

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
READ = ("id", "url", "neardup", "fetch_time")  # columns of the table of documents


class ClusterFigures(NamedTuple):
    """The number of documents, of those with a fingerprint, and of clusters."""

    documents: int
    compared: int
    clusters: int


def write_clusters(
    tables: Sequence[Path], target: Path, scratch: Path, forgotten: Forgotten | None = None
) -> ClusterFigures:
    """Write the cluster of each document to `target`, which appears when it is whole.

    Rows of what is `forgotten` are left out. `scratch` is a folder beside `target`.

    Raise ValueError if a file is not a table of documents.
    """
    for path in tables:
        _check(path)
    joined, compared = JoinedClusters(scratch), 0
    for batch in _rows(tables, forgotten):
        fingerprints = _fingerprints(batch)
        joined.add(fingerprints)
        compared += len(fingerprints)
    joined.join()
    written = scratch / target.name
    clustered = (_with_clusters(batch, joined) for batch in _rows(tables, forgotten))
    rows = write_parquet(Disk(), written, SCHEMA, clustered)[1]
    written.replace(target)
    return ClusterFigures(rows, compared, joined.count)


def _check(path: Path) -> None:
    """Raise ValueError if the file is not a table of documents."""
    try:
        schema = pq.read_schema(path)
    except pa.ArrowException as error:
        raise ValueError(f"{path}: not a Parquet file: {error}") from error
    wanted = SCHEMAS["documents"]
    for name in READ:
        if name not in schema.names or schema.field(name).type != wanted.field(name).type:
            kind = wanted.field(name).type
            raise ValueError(
                f"{path}: has no column {name} of type {kind}: not the documents of a crawl "
                "(OUTPUTS=documents)"
            )


def _rows(tables: Sequence[Path], forgotten: Forgotten | None) -> Iterator[pa.RecordBatch]:
    for path in tables:
        for batch in batches(path, READ):
            yield batch.filter(remembered(batch, forgotten)) if forgotten else batch


def _fingerprints(batch: pa.RecordBatch) -> Fingerprints:
    found: Fingerprints = batch.column("neardup").drop_null().to_numpy()
    return found


def _with_clusters(batch: pa.RecordBatch, joined: JoinedClusters) -> pa.RecordBatch:
    has_cluster = batch.column("neardup").is_valid().to_numpy(zero_copy_only=False)
    clusters = np.zeros(batch.num_rows, np.uint64)
    clusters[has_cluster] = joined.of(_fingerprints(batch))
    columns = [batch.column(name) for name in ("id", "url", "neardup")]
    return pa.RecordBatch.from_arrays(
        [*columns, pa.array(clusters, mask=~has_cluster)], schema=SCHEMA
    )
