"""Building blocks of pages in one file: elements, charts, heat maps, the document."""
