"""Pure functions that turn numbers into rows of characters; colours are the widgets' part."""
