"""What keeps a hive's drones running: `hive_run` starts them, `hive_watch` chooses which are to run."""
