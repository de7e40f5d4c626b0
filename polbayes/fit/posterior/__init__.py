"""What is computed from the draws: named quantities, tables, checks, comparisons."""
