"""The pure core: events, rules, folds and rating systems. No I/O, no clock, no chance."""
