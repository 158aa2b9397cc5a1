"""What candidates and the borders between them cost."""
