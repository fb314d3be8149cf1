"""The catalogue: an archive of pictures of marks in one file, and the question which of them a photograph shows."""
