"""How much is this test score still worth?

What is public, and where it lives, is listed in `__init__.pyi`; it is loaded when it is first used, so that
`heldout --help` need not wait for what it does not use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
