"""The folds over a log as it lies there: rebuild its history, audit what was published, ask what if."""
