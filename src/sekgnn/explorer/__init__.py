"""A page to explore two graphs in: what each test sees, and where it stops."""

from sekgnn.explorer.gallery import gallery_pages
from sekgnn.explorer.page import verdict_page
from sekgnn.explorer.rungs import ladder

__all__ = ["gallery_pages", "ladder", "verdict_page"]
