"""Claims: they find a warm pod, keep it, move to another and give it back."""
