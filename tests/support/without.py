"""`python -m tests.support.without PACKAGE MODULE …`: runs a module as if the package were not
installed.
"""

import runpy
import sys

if __name__ == "__main__":
    package, module, *words = sys.argv[1:]
    sys.modules[package] = None
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
