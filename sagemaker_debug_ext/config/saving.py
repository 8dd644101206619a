"""Steps at which to save: `SaveConfigMode` for one mode, `SaveConfig` for all four."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.vocabulary import ModeKeys

DEFAULT_SAVE_INTERVAL: Final = 500
"""Default number of steps between saves."""

SAVE_KEYS: Final = ("save_interval", "save_steps", "start_step", "end_step")
"""The four settings of a mode, in the spelling of hook and collection parameters."""


def _to_int(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise SMDebugTypeError(f"{name} must be a whole number (got {value!r})")
    try:
        return int(value)
    except ValueError as error:
        raise SMDebugValueError(f"{name} must be a whole number (got {value!r})") from error


def _interval(value: object) -> int:
    return DEFAULT_SAVE_INTERVAL if value is None else _to_int(value, "save_interval")


def _start(value: object) -> int:
    return 0 if value is None else _to_int(value, "start_step")


def _end(value: object) -> int | None:
    return None if value is None else _to_int(value, "end_step")


def _steps(value: object) -> tuple[int, ...]:
    if value is None:
        return ()
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise SMDebugValueError(f"save_steps must be a list of whole numbers (got {value!r})")
    if any(isinstance(step, bool) or not isinstance(step, int) for step in value):
        raise SMDebugValueError(f"save_steps must hold whole numbers only (got {value!r})")
    if min(value, default=0) < 0:
        raise SMDebugValueError(f"save_steps must hold whole numbers of at least 0 (got {value!r})")
    return tuple(value)


def _at_least(least: int) -> Any:
    def check(_: object, attribute: attrs.Attribute[Any], value: int | None) -> None:
        if value is not None and value < least:
            raise SMDebugValueError(f"{attribute.name} must be at least {least} (got {value!r})")

    return check


@attrs.frozen
class SaveConfigMode:
    """Steps of one mode at which to save.

    A step is saved if it is listed in `save_steps`, or if ``start_step <= step < end_step`` and it is a multiple of
    `save_interval` (store format, section 6). Steps count within the mode, from 0.

    Args:
        save_interval: Steps between saves, at least 1; 500 by default. Saved steps are multiples of it, independent of
            `start_step`.
        start_step: First step that may be saved, inclusive; 0 by default.
        end_step: End of the range, exclusive; unlimited by default.
        save_steps: Additional steps to save, independent of the interval and the range.

    Raises:
        SMDebugTypeError: A number is of another type; strings of digits are accepted.
        SMDebugValueError: A number is out of range, or `save_steps` is not a list of integers.
    """

    save_interval: int = attrs.field(default=None, converter=_interval, validator=_at_least(1))
    start_step: int = attrs.field(default=None, converter=_start, validator=_at_least(0))
    end_step: int | None = attrs.field(default=None, converter=_end, validator=_at_least(0))
    save_steps: tuple[int, ...] = attrs.field(default=None, converter=_steps)

    def should_save_step(self, step: int) -> bool:
        """Return whether `step`, counted within the mode, is saved."""
        if step in self.save_steps:
            return True
        in_range = self.start_step <= step and (self.end_step is None or step < self.end_step)
        return in_range and step % self.save_interval == 0

    def next_step_to_save(self, step: int) -> int | None:
        """Return the first step after `step` that is saved, or None."""
        first = max(step + 1, self.start_step)
        multiple = -(-first // self.save_interval) * self.save_interval
        steps = [saved for saved in self.save_steps if saved > step]
        if self.end_step is None or multiple < self.end_step:
            steps.append(multiple)
        return min(steps, default=None)

    @property
    def is_futile(self) -> bool:
        """Whether no step is ever saved, except when an `end_step` of 0 requests that."""
        return self.end_step != 0 and self.next_step_to_save(-1) is None

    @classmethod
    def from_dict(cls, params: Mapping[str, Any]) -> SaveConfigMode:
        """Build from a dictionary with the keys of `SAVE_KEYS`; missing keys have their defaults."""
        unknown = sorted(set(params) - set(SAVE_KEYS))
        if unknown:
            raise SMDebugValueError(f"a save configuration has the keys {', '.join(SAVE_KEYS)} (got {unknown!r})")
        return cls(**params)

    def to_json_dict(self) -> dict[str, Any]:
        """Return the settings in the form of the collections file (store format, section 5)."""
        return {
            "save_interval": self.save_interval,
            "save_steps": list(self.save_steps),
            "start_step": self.start_step,
            "end_step": self.end_step,
        }

    def to_json(self) -> str:
        """Return `to_json_dict` as JSON text."""
        return json.dumps(self.to_json_dict())


def _mode_key(key: object) -> ModeKeys:
    if isinstance(key, ModeKeys):
        return key
    if isinstance(key, str) and key.upper() in ModeKeys.__members__:
        return ModeKeys[key.upper()]
    allowed = f"{', '.join(ModeKeys.__members__)}, or else {', '.join(SAVE_KEYS)}"
    raise SMDebugValueError(f"a save configuration has the keys {allowed} (got {key!r})")


def _mode_value(mode: ModeKeys, value: object) -> SaveConfigMode | None:
    if value is None or isinstance(value, SaveConfigMode):
        return value
    if isinstance(value, Mapping):
        return SaveConfigMode.from_dict(value)
    raise SMDebugValueError(f"the save configuration of {mode.name} must be a SaveConfigMode or None (got {value!r})")


@attrs.frozen(init=False, repr=False)
class SaveConfig:
    """Steps at which to save, per mode.

    Without `mode_save_configs`, the other arguments apply to all four modes and mean the same as in `SaveConfigMode`.
    With it, they are ignored, and modes that are missing or None use the hook's settings.

    Args:
        mode_save_configs: `SaveConfigMode` or None for each mode; keys are modes or their names.
        save_interval: See `SaveConfigMode`.
        start_step: See `SaveConfigMode`.
        end_step: See `SaveConfigMode`.
        save_steps: See `SaveConfigMode`.

    Raises:
        SMDebugTypeError: As for `SaveConfigMode`.
        SMDebugValueError: As for `SaveConfigMode`, or `mode_save_configs` has an unknown mode or an invalid value.
    """

    _by_mode: tuple[tuple[ModeKeys, SaveConfigMode | None], ...]

    def __init__(
        self,
        mode_save_configs: Mapping[Any, Any] | None = None,
        save_interval: int | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
        save_steps: Sequence[int] | None = None,
    ) -> None:
        by_mode: dict[ModeKeys, SaveConfigMode | None]
        if mode_save_configs is None:
            same = SaveConfigMode(save_interval, start_step, end_step, save_steps)
            by_mode = dict.fromkeys(ModeKeys, same)
        elif isinstance(mode_save_configs, Mapping):
            keyed = {_mode_key(key): value for key, value in mode_save_configs.items()}
            given = {mode: _mode_value(mode, value) for mode, value in keyed.items()}
            by_mode = {mode: given.get(mode) for mode in ModeKeys}
        else:
            raise SMDebugValueError(f"mode_save_configs must map modes to SaveConfigMode (got {mode_save_configs!r})")
        self.__attrs_init__(tuple(by_mode.items()))

    @property
    def mode_save_configs(self) -> dict[ModeKeys, SaveConfigMode | None]:
        """The settings of each mode; None if the hook's settings apply."""
        return dict(self._by_mode)

    def get_save_config(self, mode: ModeKeys) -> SaveConfigMode:
        """Return the settings of `mode`.

        Raises:
            SMDebugValueError: The mode uses the hook's settings, which this object does not have.
        """
        config = dict(self._by_mode)[_mode_key(mode)]
        if config is None:
            raise SMDebugValueError(f"mode {mode.name} has no save configuration of its own")
        return config

    def should_save_step(self, mode: ModeKeys, step: int) -> bool:
        """Return whether `step`, counted within `mode`, is saved."""
        return self.get_save_config(mode).should_save_step(step)

    def merge_default_save_config(self, default: SaveConfig) -> SaveConfig:
        """Return a copy in which modes without settings have those of `default`."""
        fallback = default.mode_save_configs
        return SaveConfig({mode: config or fallback[mode] for mode, config in self._by_mode})

    @classmethod
    def from_dict(cls, params: Mapping[str, Any], default_values: Mapping[ModeKeys, Any] | None = None) -> SaveConfig:
        """Build from a dictionary whose keys are mode names or settings.

        Args:
            params: The form of `to_json_dict`, or a flat dictionary with the keys of `SAVE_KEYS`.
            default_values: Settings for modes that are not in `params`.
        """
        if params and set(params) <= set(SAVE_KEYS):
            return cls(**params)
        return cls({**(default_values or {}), **{_mode_key(key): value for key, value in params.items()}})

    @classmethod
    def from_json(cls, text: str) -> SaveConfig:
        """Build from the JSON text of `to_json`."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_save_config_mode(cls, save_config_mode: SaveConfigMode) -> SaveConfig:
        """Build from the settings that apply to every mode."""
        return cls(dict.fromkeys(ModeKeys, save_config_mode))

    @classmethod
    def parse(cls, value: SaveConfig | SaveConfigMode | Mapping[Any, Any] | None) -> SaveConfig | None:
        """Convert a ``save_config`` argument of a hook to a `SaveConfig`; None stays None.

        Raises:
            SMDebugTypeError: `value` has the wrong type.
        """
        if value is None or isinstance(value, SaveConfig):
            return value
        if isinstance(value, SaveConfigMode):
            return cls.from_save_config_mode(value)
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        raise SMDebugTypeError(f"save_config must be a SaveConfig, a SaveConfigMode, a dict or None (got {value!r})")

    def to_json_dict(self) -> dict[str, Any]:
        """Return the settings in the form of the collections file (store format, section 5)."""
        return {mode.name: config.to_json_dict() if config else None for mode, config in self._by_mode}

    def to_json(self) -> str:
        """Return `to_json_dict` as JSON text."""
        return json.dumps(self.to_json_dict())

    def __repr__(self) -> str:
        configs = {config for _, config in self._by_mode}
        if len(configs) == 1 and None not in configs:
            (same,) = configs
            return repr(same).replace("SaveConfigMode", "SaveConfig", 1)
        return f"SaveConfig({ {mode.name: config for mode, config in self._by_mode} })"
