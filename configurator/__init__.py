"""The DCP configurator for SGLang."""
