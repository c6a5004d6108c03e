"""What today's code does, written down: a net for changes that must not change behaviour."""
