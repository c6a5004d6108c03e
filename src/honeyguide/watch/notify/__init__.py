"""Notifications: which changes are sent to whom, when, in which form and through which channel."""
