"""The bottleneck of a crawl (`bound`, `bound_words`), and a CPU profile by stage (`profile`, `stages`)."""
