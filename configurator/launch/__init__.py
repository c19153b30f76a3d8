"""Commands in and out: read what people paste, change it in place, write what people run."""
