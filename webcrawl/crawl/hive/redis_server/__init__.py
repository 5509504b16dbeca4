"""What a hive does with a Redis or Valkey server: its keys and steps, clients, and one of its own.

Public: `clients`, `keys`, `embedded_server`, `pushed_seeds`.
"""
