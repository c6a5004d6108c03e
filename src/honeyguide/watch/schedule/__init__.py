"""The schedule of revisits: change rates, the value of a visit, and the order of visits."""
