"""What is measured and in which order."""
