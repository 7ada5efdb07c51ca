"""The shell around the folds: Kafka, Faust, transactions and the embedded broker."""
