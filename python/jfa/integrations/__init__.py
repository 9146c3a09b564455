"""JFA inside other packages."""
