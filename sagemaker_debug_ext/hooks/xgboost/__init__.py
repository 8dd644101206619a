"""The XGBoost hook, and what only it needs."""
