"""Many drones that share one crawl (docs/hive-protocol.md).

Public: `running` (a drone among the others), `drone`, `member`, `hive_folder`, `operator`,
`supervising`, `process`, `partition`, `letter`, `errors`, `redis_server`.

How links reach another drone without being lost or doubled: crawl/hive_parts.py.
"""
