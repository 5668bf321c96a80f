"""Import published benchmarks: one module for each format, and the release that is made of the files."""
