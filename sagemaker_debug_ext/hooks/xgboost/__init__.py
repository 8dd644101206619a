"""The XGBoost hook and its helpers."""
