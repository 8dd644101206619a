"""Public face of when to save."""

from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode

__all__ = ["SaveConfig", "SaveConfigMode"]
