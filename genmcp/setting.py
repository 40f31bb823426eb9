"""The names of a setting: as an option, as a flag of `genmcp serve`, in the environment.

Layer: at the bottom, pure. What is refused because of a setting names it in all three ways,
as data too (`describe_setting`); `genmcp.cli` reads flags and variables by the same rules.
"""

from __future__ import annotations

from typing import Any, Final

# A flag that may be repeated has the name of one entry, one without a value what it does.
_ENTRIES: Final = {
    "allowed_hosts": "allowed_host",
    "allowed_origins": "allowed_origin",
    "fds": "fd",
    "legacy": "no_legacy",
    "trusted_proxies": "trusted_proxy",
}


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
