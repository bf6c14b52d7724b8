"""What audits say: each result -> Summary."""
