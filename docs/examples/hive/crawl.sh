#!/bin/sh
# Two processes share one crawl; its server runs beside them and ends with them. The same line resumes it.
# usage: ./crawl.sh SEEDS [more options of `webcrawl hive web`]
seeds=$1
shift
exec webcrawl hive web -n 2 -a seeds="$seeds" -s JOBDIR=crawl "$@"
