"""The bottleneck of a crawl (`bound`), and a CPU profile by stage (`profile`)."""
