"""Many drones that share one crawl (docs/hive-protocol.md).

Public: `drone_runner` (the loops of a drone), `drone`, `member`, `hive_folder`, `operator`,
`drone_supervisor`, `process`, `partition`, `batch`, `errors`, `redis_server`.

How links reach another drone without being lost or doubled: crawl/hive_parts.py.
"""
