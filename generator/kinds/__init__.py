"""What a row is, by kind: the columns that follow id, frame and slots."""
