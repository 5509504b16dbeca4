"""URL filters; `filter_protocol` says what a filter has to offer."""
