"""What is said about results: findings, figures, pages."""
