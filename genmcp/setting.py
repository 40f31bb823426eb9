"""The names of a setting: as an option, as a flag of `genmcp serve`, in the environment.

Layer: at the bottom, pure. What is refused because of a setting names it in all three ways,
as data too (`describe_setting`); `genmcp.cli` reads flags and variables by the same rules.
An option that is misspelled is named with the one that was probably meant.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# A flag that may be repeated has the name of one entry, one without a value what it does.
_ENTRIES: Final = {
    "allowed_hosts": "allowed_host",
    "allowed_origins": "allowed_origin",
    "fds": "fd",
    "legacy": "no_legacy",
    "trusted_proxies": "trusted_proxy",
}

# Above the usual 0.6: `workers` is not meant for `observers`.
_LIKENESS: Final = 0.7


def name_flag(setting: str) -> str:
    """Return the flag of `genmcp serve`, such as `--max-body-bytes`."""
    return "--" + _ENTRIES.get(setting, setting).replace("_", "-")


def name_variable(setting: str) -> str:
    """Return the environment variable, such as `GENMCP_MAX_BODY_BYTES`."""
    return f"GENMCP_{setting.upper()}"


def describe_setting(setting: str, **more: Any) -> dict[str, Any]:
    """Return the `data` of a refusal that another value of this setting would lift.

    Args:
        setting: the option of `StreamableHTTP` and `serve`.
        more: what was refused, or what the limit is.
    """
    return {
        "setting": setting,
        "flag": name_flag(setting),
        "variable": name_variable(setting),
        **more,
    }


def explain_unknown(taker: str, option: str, known: Iterable[str]) -> str:
    """Return that `taker` has no such option, and which one was probably meant.

    Args:
        taker: what was called, such as `serve()`.
        option: what it was given.
        known: the options it has.
    """
    near = difflib.get_close_matches(option, list(known), 1, _LIKENESS)
    return f"{taker} has no option {option!r}" + "".join(f"; did you mean {one}?" for one in near)
