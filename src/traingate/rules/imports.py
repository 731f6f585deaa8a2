"""What Python files import, as far as it tells whether their processes can work together."""

import re
import sys
from collections.abc import Mapping

_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][\w.]*)", re.MULTILINE)

_SINGLE_PROCESS = {
    "sklearn": "scikit-learn",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "statsmodels": "statsmodels",
}
#: Libraries that neither train over several processes nor help others to.
_HARMLESS = {
    *("numpy", "pandas", "scipy", "joblib", "matplotlib", "seaborn", "mlflow", "yaml", "tqdm"),
    *("pyarrow", "polars", "PIL", "click", "requests", "shap", "optuna", "azure", "azureml"),
    *("skops", "pydantic", "rich", "imblearn", "fsspec", "adlfs", "mltable"),
}
#: Standard modules a script may build its own communication with.
_STANDARD = sys.stdlib_module_names - {"socket", "socketserver", "asyncio", "xmlrpc"}
_PARTS = r"(?:dask|spark|collective|rabit)"
_DISTRIBUTED = re.compile(
    rf"\b(?:num_machines|machine_list_filename|DaskLGBM\w*|(?:xgboost|lightgbm)\.{_PARTS}"
    rf"|from (?:xgboost|lightgbm) import [^\n]{{0,255}}\b{_PARTS})\b"
)


def local_only_libraries(sources: Mapping[str, str]) -> tuple[str, ...]:
    """The single-process libraries these files import, where nothing they import communicates.

    Empty when any file imports a module this list does not know (it might), and when there are
    no Python files.
    """
    found: dict[str, None] = {}
    python = {path: text for path, text in sources.items() if path.endswith(".py")}
    own = {part for path in python for part in path.removesuffix(".py").split("/")}
    for text in python.values():
        roots = {module.partition(".")[0] for module in _IMPORT.findall(text)}
        if roots - own - set(_SINGLE_PROCESS) - _HARMLESS - _STANDARD or _DISTRIBUTED.search(text):
            return ()
        found |= {_SINGLE_PROCESS[root]: None for root in sorted(roots & set(_SINGLE_PROCESS))}
    return tuple(found)
