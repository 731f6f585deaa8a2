"""Runs on Azure Machine Learning. Only these modules import azure, and only when used.

Start at `backend.connect`. The boundary (what this backend leaves to others) is in
`docs/azureml-backend.md`.
"""
