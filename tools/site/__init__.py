"""What the web site needs beside docs/ and mkdocs.yml."""
