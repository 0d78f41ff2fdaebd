"""Published studies, their tables computed again from the data and set beside what was printed."""
