"""Builds the package with maturin, or says what is missing where somebody copied only this folder."""

from pathlib import Path

HERE = Path(__file__).parent

# A source distribution has PKG-INFO, and holds the sources of the program itself.
if not (HERE / "../../Cargo.toml").exists() and not (HERE / "PKG-INFO").exists():
    raise SystemExit(
        "halfspace: this folder holds only the Python part, and the build compiles the program from the rest of the "
        "repository, so clone the repository and run `pip install ./clients/python` in it."
    )

from maturin import *  # noqa: E402, F403
