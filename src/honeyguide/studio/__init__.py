"""The studio: a local web page on which people look, label and steer."""
