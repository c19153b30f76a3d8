"""One delta per SGLang release."""
