"""A web made from a seed number: any size, nothing stored, the truth known."""
