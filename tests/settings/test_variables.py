from __future__ import annotations

from kvtop.settings.keys import KEYS
from kvtop.settings.variables import unknown_variables


def test_the_settings_own_variables_are_known() -> None:
    assert unknown_variables({key.variable: "x" for key in KEYS} | {"HOME": "/"}) == ()


def test_an_unknown_one_is_told_with_the_nearest_name() -> None:
    first, second = unknown_variables({"KVTOP_UI_ASCI": "1", "KVTOP_QUX": ""})
    assert "KVTOP_QUX" in first.text
    assert "config show" in first.hint
    assert "KVTOP_UI_ASCI is no setting" in second.text
    assert second.hint == "Did you mean KVTOP_UI_ASCII?"


def test_a_name_with_escapes_is_cleaned() -> None:
    (warning,) = unknown_variables({"KVTOP_\x1b[31mX": "1"})
    assert "\x1b" not in str(warning)
