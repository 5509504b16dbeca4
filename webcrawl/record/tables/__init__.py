"""Parquet tables: `table_writer` writes them, and `columns` has their columns and rows."""
