"""What is known of quantised values, and the rules of operators on them; the lists of mixed precision."""
