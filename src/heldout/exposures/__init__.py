"""Did models score better on what they could have seen? Dates and cutoffs -> who could have seen what -> two tests."""
