"""Tools for those who work on the configurator; nothing here is installed."""
