"""The page: anywidget views that draw what a workspace says, around one observable store."""
