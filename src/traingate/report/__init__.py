"""What people and machines read: text, annotations, JSON, markdown."""
