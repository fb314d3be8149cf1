"""The catalogue as a web page on one's own machine."""

from .app import create_app
from .server import serve

__all__ = ["create_app", "serve"]
