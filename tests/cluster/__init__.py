"""A crawl over several machines, tried on machines that are namespaces of this one."""
