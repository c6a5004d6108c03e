"""Due pages out, answers in: politely, many at once, compared as soon as they come."""
