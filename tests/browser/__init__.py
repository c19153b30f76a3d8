"""Tests that drive a real Chromium. A package, so that the browser ends with it and not with the whole run."""
