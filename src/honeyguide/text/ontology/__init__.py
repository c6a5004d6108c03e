"""Ontologies: read from the usual formats, and cut down to what lies near a topic."""
