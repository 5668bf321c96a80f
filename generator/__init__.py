"""Read the declarations, check them, expand them."""
