"""Category models: from labelled texts to a model, with figures that say what it is worth."""
