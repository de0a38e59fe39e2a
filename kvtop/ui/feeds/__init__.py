"""What feeds the app: threads of their own that post messages."""
