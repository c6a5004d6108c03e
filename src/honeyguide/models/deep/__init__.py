"""Networks that sort texts into categories: words in, probabilities out."""
