"""Pages of the site with exercises that are written and judged in the reader's browser (docs/site.md)."""
