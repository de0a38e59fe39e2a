"""config.toml, the folders of this user, and which setting wins."""
