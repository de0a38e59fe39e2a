"""The app: Textual screens over live samples and run folders. It measures nothing itself."""
