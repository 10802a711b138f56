"""A page to explore two graphs in: what each test sees, and where it stops."""

from sekgnn.wl.explorer.gallery import gallery_pages
from sekgnn.wl.explorer.page import verdict_page

__all__ = ["gallery_pages", "verdict_page"]
