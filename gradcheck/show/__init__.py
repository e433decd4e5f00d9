"""Reports as text, HTML and XML, and the pictures in them."""
