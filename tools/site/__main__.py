"""`python -m tools.site`"""

import sys

from tools.site import cli

if __name__ == "__main__":
    sys.exit(cli.main())
