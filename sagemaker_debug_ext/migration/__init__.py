"""The public names of smdebug and of the SDK's ``sagemaker.debugger``, and the renaming of scripts that use them."""
