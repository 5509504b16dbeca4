"""The hive's server as a Redis or Valkey server: nothing outside of this folder knows that it is one.

Public: `redis_transport` (the calls of crawl/hive/transport.py), `clients`, `steps`,
`embedded_server` (one that runs as long as the hive), `pushed_seeds` (from a key of the user's).
"""
