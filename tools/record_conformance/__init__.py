"""Ask real SGLang releases what they do with commands, and compare or record it: ``python -m tools.record_conformance``."""
