"""What keeps a hive's drones running: `hive_run` plans them, `watching` looks after them."""
