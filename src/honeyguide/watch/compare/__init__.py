"""What differs between two versions of a page, what of it is news, and is it the page at all?"""
