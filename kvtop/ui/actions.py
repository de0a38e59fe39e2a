"""All actions of the app. Key bindings, key bar, command palette and help are made from this list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from kvtop.model.failure import Failure
from kvtop.settings.key_map import unknown_actions

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Area = Literal["run", "log", "panel", "view", "app"]
"""What an action belongs to; the palette and the help group by it."""

Owner = Literal["app", "cockpit"]
"""Who carries an action out: the app on every screen, or the cockpit while it is in front."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a user can make the app do."""

    id: str
    """Stable name: `[keys]` of the settings remaps by it."""
    key: str
    """Its keys, with commas between; empty when another action has taken them."""
    label: str
    """One or two words, for the key bar."""
    area: Area
    help: str
    """One sentence, for the help and the palette."""
    tooltip: str = ""
    """What the mouse shows; the help where this is empty."""
    owner: Owner = "cockpit"
    run: str = ""
    """What Textual runs, without the namespace; the id where this is empty."""
    in_bar: bool = False
    """Whether the key bar shows it, space allowing."""
    priority: bool = False
    """Whether it comes before what the focused widget does with its key."""

    @property
    def target(self) -> str:
        """The action as Textual wants it, e.g. `app.quit`."""
        namespace = "app" if self.owner == "app" else "screen"
        return f"{namespace}.{self.run or self.id}"

    @property
    def keys(self) -> tuple[str, ...]:
        """Its keys one by one."""
        return tuple(key for key in self.key.split(",") if key)


ACTIONS = (
    Action("scan", "s", "scan", "run", "Plan a length scan, see its price, start it.", in_bar=True),
    Action("runs", "r", "runs", "run", "Open another run of the archive.", in_bar=True),
    Action("cancel", "x", "cancel", "run", "Stop the run in view; what was measured is kept.", in_bar=True),
    Action("filter", "slash", "filter", "log", "Show only the requests that match a word.", in_bar=True),
    Action("follow", "f", "follow", "log", "Keep the newest request in view, or stop doing so."),
    Action("merge", "a", "all runs", "log", "Show the requests of all runs, or of this one again."),
    Action("processes", "o", "processes", "panel", "List the processes that hold GPU memory.", in_bar=True),
    Action("next_curve", "v", "curve", "panel", "Go on to the next curve.", in_bar=True),
    Action("panel_1", "1", "GPUs", "panel", "Only the GPUs; Esc brings all back.", run="show_panel(1)"),
    Action("panel_2", "2", "requests", "panel", "Only the requests.", run="show_panel(2)"),
    Action("panel_3", "3", "curves", "panel", "Only the curves.", run="show_panel(3)"),
    Action("panel_4", "4", "findings", "panel", "Only the findings.", run="show_panel(4)"),
    Action("restore", "escape", "all panels", "panel", "Show all panels again.", priority=True),
    Action("copy", "y", "copy", "view", "Copy what is selected, or the path of the run folder."),
    Action("screenshot", "i", "image", "view", "Write the screen into an SVG file.", owner="app"),
    Action("redraw", "ctrl+l", "redraw", "view", "Draw the screen anew.", owner="app"),
    Action("theme", "t", "theme", "view", "Choose the colours.", owner="app", in_bar=True),
    Action("palette", "colon", "commands", "app", "Find an action by its name.", owner="app"),
    Action(
        "help", "question_mark", "help", "app", "All keys, and the panel in focus.", owner="app", in_bar=True
    ),
    Action(
        "suspend", "ctrl+z", "suspend", "app", "Back to the shell; `fg` returns.", owner="app", priority=True
    ),
    Action("quit", "q", "quit", "app", "Leave; a run that is going on goes on.", owner="app", in_bar=True),
)

_KEY_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "space": "Space",
    "comma": ",",
}
_NAMES_OF_CHARACTERS = {character: name for name, character in _KEY_NAMES.items() if len(character) == 1}


def remapped(
    keys: Mapping[str, str],
    origins: Mapping[str, str],
    actions: tuple[Action, ...] = ACTIONS,
    others: Collection[str] = (),
) -> tuple[tuple[Action, ...], tuple[Failure, ...]]:
    """Return the actions with the user's keys, and what of `[keys]` could not be done as written.

    A key of the user's is taken from the action that has it by default. `others` are ids that may be
    remapped too, of keys that a panel has for itself.
    """
    known = {action.id for action in actions}
    wanted = {name: _names(text) for name, text in keys.items() if name in known}
    owner_of = {key: name for name, chords in wanted.items() for key in chords}
    complaints = list(unknown_actions(keys, origins, known.union(others)))
    found = []
    for action in actions:
        chords = wanted.get(action.id) or action.keys
        kept = tuple(key for key in chords if owner_of.get(key, action.id) == action.id)
        found.append(replace(action, key=",".join(kept)))
        if not kept:
            complaints.append(_without_key(action, owner_of[chords[0]]))
    return tuple(found), tuple(complaints)


def shown_key(key: str) -> str:
    """Return a key as people write it: `?` for `question_mark`, `^z` for `ctrl+z`."""
    *modifiers, last = key.split("+")
    name = _KEY_NAMES.get(last, last)
    if modifiers == ["ctrl"]:
        return f"^{name}"
    return "+".join((*modifiers, name))


def _names(text: str) -> tuple[str, ...]:
    return tuple(_NAMES_OF_CHARACTERS.get(key, key) for key in text.split(","))


def _without_key(action: Action, taken_by: str) -> Failure:
    text = f"[keys]: {taken_by} has the key of {action.id}, which has none now."
    return Failure.of("key_taken", text, f"Give {action.id} another one in config.toml.")
