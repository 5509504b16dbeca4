"""Many drones that share one crawl (docs/hive.md).

Public: `running` (a drone among the others), `drone`, `member`, `hive_folder`, `operator`, `supervising`,
`drone_report`, `partition`, `embedded` (the server on one machine), `letter`, `errors`.
"""
