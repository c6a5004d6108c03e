"""Many shards, one crawl: in processes of one machine, or on the machines of a cluster."""
