"""Sources of GPU readings behind one interface."""
