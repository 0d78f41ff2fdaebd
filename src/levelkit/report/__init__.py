"""What people read: tables, figures, pages. Knows results of fits, not how they were made."""
