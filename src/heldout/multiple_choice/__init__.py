"""`heldout options`: does a score depend on the benchmark as printed?"""
