"""The microbenchmark of decode context parallelism: exact merges, checked against float64 attention before they are timed."""
