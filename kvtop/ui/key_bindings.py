"""From the list of actions to Textual's key bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding, BindingsMap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.widget import Widget

    from kvtop.ui.actions import Action, Owner


def bindings_of(actions: Iterable[Action], owner: Owner) -> BindingsMap:
    """Return the key bindings of the actions that `owner` carries out."""
    return BindingsMap(_binding(action) for action in actions if action.owner == owner and action.key)


def ids_of_panels(widgets: Iterable[type[Widget]]) -> frozenset[str]:
    """Return the ids of the keys that panels have for themselves; `[keys]` may name these too."""
    bindings = (binding for widget in widgets for binding in widget.BINDINGS)
    return frozenset(one.id for one in bindings if isinstance(one, Binding) and one.id)


def _binding(action: Action) -> Binding:
    return Binding(
        action.key,
        action.target,
        action.label,
        id=action.id,
        tooltip=action.tooltip or action.help,
        show=False,
    )
