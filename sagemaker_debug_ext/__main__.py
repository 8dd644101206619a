"""Run the command line by ``python -m sagemaker_debug_ext``, where the script of it is not on the path."""

import sys

from sagemaker_debug_ext.cli.main import main

sys.exit(main())
