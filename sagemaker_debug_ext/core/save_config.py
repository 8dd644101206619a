"""Public face of `SaveConfig` and `SaveConfigMode`."""

from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode

__all__ = ["SaveConfig", "SaveConfigMode"]
