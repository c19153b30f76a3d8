"""Tests of the microbenchmark."""
