"""The app: themes, actions and feeds are put together here; what they do is done elsewhere."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import BindingsMap
from textual.events import Event, Key
from textual.filter import NoColor

from kvtop.ui import hand_over
from kvtop.ui.actions import remapped
from kvtop.ui.ascii_filter import AsciiFilter
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.drawing_gate import DrawingGate
from kvtop.ui.feed_set import FeedSet
from kvtop.ui.header_facts import HeaderFacts
from kvtop.ui.key_bindings import bindings_of, ids_of_panels
from kvtop.ui.launch import has_few_colors, wants_ascii
from kvtop.ui.line_filter import ControlFilter
from kvtop.ui.measured_driver import MeasuredDriver
from kvtop.ui.messages import FailureShown
from kvtop.ui.pace import Pace
from kvtop.ui.run_control import RunControl
from kvtop.ui.screens.cockpit import Cockpit
from kvtop.ui.session import Session
from kvtop.ui.terminal_watch import TerminalWatch
from kvtop.ui.theme_files import load_themes
from kvtop.ui.thrifty_frame import ThriftyFrame
from kvtop.ui.widgets.curve_panel import CurvePanel
from kvtop.ui.widgets.request_log import RequestLog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from pathlib import PurePath

    from rich.console import RenderableType
    from textual.filter import LineFilter
    from textual.screen import Screen

    from kvtop.model.failure import Failure
    from kvtop.ui import messages
    from kvtop.ui.launch import Launch
    from kvtop.ui.screens.request_detail import RequestDetail
    from kvtop.ui.screens.runs import RunsScreen
    from kvtop.ui.screens.theme_picker import ThemePicker

_HUP_EXIT = 129
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class KvtopApp(App[None]):
    """Shows GPUs, requests and curves, live."""

    TITLE = "kvtop"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["styles/app.tcss", "styles/cockpit.tcss"]
    ENABLE_COMMAND_PALETTE = True
    NOTIFICATION_TIMEOUT = 6

    def __init__(self, launch: Launch) -> None:
        self.pace = Pace()
        super().__init__(driver_class=MeasuredDriver)
        self.launch = launch
        self.session = Session()
        self.glyphs = Glyphs(ascii=wants_ascii(launch.settings, launch.environ))
        self._nets = self._make_nets()
        keys = launch.settings.keys
        self.actions, key_complaints = remapped(
            keys, launch.settings.origins, others=ids_of_panels((RequestLog, CurvePanel))
        )
        self.set_keymap(keys)
        self._suspend_keys = {
            key for action in self.actions if action.id == "suspend" for key in action.key.split(",")
        }
        self._bindings = BindingsMap.merge([self._bindings, bindings_of(self.actions, "app")])
        self.feeds = FeedSet(launch, self.post_message)
        self.control = RunControl(self)
        self.header = HeaderFacts(launch)
        self._gate = DrawingGate(self, self.pace)
        self._frame = ThriftyFrame()
        self._watch: TerminalWatch | None = None
        self._cockpit: Cockpit | None = None
        self._gpus_drawn_at = 0.0
        self._complaints = [*launch.notices, *key_complaints, *self._take_themes()]
        self.set_class(self.glyphs.ascii, "-ascii-app")

    @property
    def cockpit(self) -> Cockpit:
        """The screen below all others."""
        if self._cockpit is None:
            self._cockpit = Cockpit(self.actions, self.glyphs)
        return self._cockpit

    def get_default_screen(self) -> Screen[Any]:
        """Return the cockpit."""
        return self.cockpit

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's filters and ours: nothing that a terminal acts on gets through.

        Always the same objects: filtered lines are kept by them, and filtering is dear.
        """
        return self._nets if self.no_color else (*super().get_line_filters(), *self._nets)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Yield each action for the palette, its area first."""
        for action in self.actions:
            if action.owner == "app" or screen is self.cockpit:
                yield SystemCommand(
                    f"{action.area}: {action.label}", action.help, self._doing(action.target, screen)
                )

    def on_mount(self) -> None:
        """Show the first screen; everything that takes long comes after it."""
        self._listen_to_signals()
        self.app_resume_signal.subscribe(self, lambda _: self._draw_all())
        self.call_after_refresh(self._begin)

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave; nothing more is told from here on."""
        self.feeds.stop()
        super().exit(result, return_code, message)

    def on_unmount(self) -> None:
        """End the feeds; none is waited for."""
        self.feeds.stop()
        if self._watch is not None:
            self._watch.stop()

    def on_resize(self) -> None:
        """Draw all of the next frame: terminals move what they show about."""
        self._frame.forget()

    def post_display_hook(self) -> None:
        """Wait with the next frame until the terminal has this one."""
        self._gate.after_display()

    def show_header(self) -> None:
        """Show what the header knows."""
        self.header.draw(self.cockpit.header)

    def complain(self, failures: Sequence[Failure]) -> None:
        """Show what went wrong, all of it in one notice."""
        if failures:
            text = "\n".join(map(str, failures))
            self.notify(self.glyphs.shown(text), severity="warning", timeout=12, markup=False)

    def copy(self, text: str) -> None:
        """Put a text on the clipboard and into a file, and say where."""
        self.copy_to_clipboard(text)
        told = hand_over.write_copy(text, self.launch.environ)
        self.notify(told, markup=False)

    def on_gpu_snapshot(self, message: messages.GpuSnapshot) -> None:
        """Show the GPUs, as often as the terminal can bear."""
        now = time.monotonic()
        if now - self._gpus_drawn_at >= self.pace.interval_s * 0.8:
            self._gpus_drawn_at = now
            self.control.snapshot = message
            self.cockpit.show_gpus(message)

    def on_engine_seen(self, message: messages.EngineSeen) -> None:
        """Show what is known of the engine."""
        self.header.view = message.view
        self.cockpit.show_engine(message.view)
        self.show_header()

    def on_profile_seen(self, message: messages.ProfileSeen) -> None:
        """Show which profile is in use."""
        self.header.profile, self.header.tls_note = message.name, message.tls_note
        self.show_header()

    def on_run_opened(self, message: messages.RunOpened) -> None:
        """Show another run."""
        self.control.opened(message)

    def on_requests_arrived(self, message: messages.RequestsArrived) -> None:
        """Show more requests."""
        self.cockpit.add_requests(message.run_id, message.records, replace=message.replace)

    def on_progress_told(self, message: messages.ProgressTold) -> None:
        """Show how far the run is."""
        self.control.told(message)

    def on_findings_changed(self, message: messages.FindingsChanged) -> None:
        """Show the analysis."""
        self.cockpit.show_analysis(message.document)

    def on_run_started(self, message: messages.RunStarted) -> None:
        """Follow a run that was started here."""
        self.control.started(message)

    def on_failure_shown(self, message: messages.FailureShown) -> None:
        """Show what went wrong."""
        self.complain((message.failure,))

    def on_theme_picker_previewed(self, message: ThemePicker.Previewed) -> None:
        """Show a theme."""
        self.theme = message.name

    def on_request_detail_copy_asked(self, message: RequestDetail.CopyAsked) -> None:
        """Copy a request."""
        self.copy(message.text)

    def on_runs_screen_cancel_wanted(self, message: RunsScreen.CancelWanted) -> None:
        """Stop a run of the archive."""
        self.control.stop(message.run_id)

    def on_runs_screen_resume_wanted(self, message: RunsScreen.ResumeWanted) -> None:
        """Finish a run of the archive."""
        self.control.resume(message.run_id)

    def action_theme(self) -> None:
        """Choose a theme, looking at it."""
        from kvtop.ui.screens.theme_picker import ThemePicker

        before = self.theme

        def chosen(name: str | None) -> None:
            self.theme = name or before
            if name and name != before:
                self.notify(f'To keep it:  [ui]  theme = "{name}"  in config.toml.', markup=False)

        self.push_screen(ThemePicker(tuple(self._themes), before), chosen)

    def action_help(self) -> None:
        """Show all keys, and what the focused panel shows."""
        from kvtop.ui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.actions, self.cockpit.focused_panel(), self.glyphs))

    def action_palette(self) -> None:
        """Find an action by its name."""
        self.action_command_palette()

    def action_screenshot(self, filename: str | None = None, path: str | None = None) -> None:  # noqa: ARG002 - Textual's
        """Write the screen into an SVG file and say where it is."""
        svg = self.export_screenshot(title="kvtop")
        self.notify(hand_over.write_screenshot(svg, self.launch.settings.runs.dir.parent), markup=False)

    def action_redraw(self) -> None:
        """Draw all anew, whatever another program has left on the screen."""
        self._draw_all()

    async def on_event(self, event: Event) -> None:
        """Go back to the shell from dialogs too, to which Textual lets no binding of the app through."""
        if isinstance(event, Key) and event.key in self._suspend_keys and self.screen.is_modal:
            self.action_suspend()
            return
        await super().on_event(event)

    def action_suspend(self) -> None:
        """Go back to the shell."""
        self.action_suspend_process()

    def action_help_quit(self) -> None:
        """Leave at Ctrl+C, as every other tool does."""
        self.exit()

    def _make_nets(self) -> tuple[LineFilter, ...]:
        """Return our filters. Textual's own for NO_COLOR turns the terminal's default colours into black."""
        nets: list[LineFilter] = [NoColor()] if self.no_color else []
        nets.append(ControlFilter())
        if self.glyphs.ascii:
            nets.append(AsciiFilter())
        return tuple(nets)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Send only what the terminal does not show yet."""
        super()._display(screen, self._frame.thrifty(renderable))

    def _fatal_error(self) -> None:
        """End at an error that nobody foresaw. Textual's own words would show the values of variables."""
        if not self._exit_renderables:
            self.panic(Text(str(self._kept(self._exception)), no_wrap=True, overflow="ignore"))

    def _thread_failed(self, told: threading.ExceptHookArgs) -> None:
        """Show that a thread has ended; Python's own words would stand across the screen."""
        if self._watch is None or not self._watch.is_lost():
            self.post_message(FailureShown(self._kept(told.exc_value)))

    def _kept(self, error: BaseException | None) -> Failure:
        from kvtop.ui import crash

        return crash.keep(error or RuntimeError("no error is known"), self.launch.environ)

    def _draw_all(self) -> None:
        self._frame.forget()
        self.screen.refresh(layout=True)

    def _begin(self) -> None:
        self.feeds.start()
        self.set_interval(1.0, self._second)
        self.complain(self._complaints)
        if not self.is_headless:
            threading.excepthook = self._thread_failed
            gc.freeze()
            gc.enable()
            loop = asyncio.get_running_loop()
            lose = lambda: loop.call_soon_threadsafe(self.exit, None, _HUP_EXIT)  # noqa: E731
            self._watch = TerminalWatch(sys.__stdin__.fileno() if sys.__stdin__ else 0, lose)
            self._watch.start()

    def _second(self) -> None:
        held_up_s = self._driver.held_up_s if isinstance(self._driver, MeasuredDriver) else 0.0
        if self.pace.second_passed(held_up_s):
            self.feeds.pace(self.pace.interval_s)
            self.header.is_slow = self.pace.is_slow
            self.show_header()

    def _listen_to_signals(self) -> None:
        """End in order at SIGTERM and SIGHUP: Textual's own end leaves the terminal in its state."""
        if self.is_headless:
            return
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.exit, None, 128 + number)

    def _take_themes(self) -> tuple[Failure, ...]:
        found = load_themes(self.launch.environ)
        self._themes = found.themes
        for theme in found.themes.values():
            self.register_theme(theme)
        wanted = self.launch.settings.ui.theme
        theme, complaint = found.choose(wanted, few_colors=has_few_colors(self.launch.environ))
        self.theme = theme.name
        return (*found.failures, *((complaint,) if complaint else ()))

    def _doing(self, target: str, screen: Screen[Any]) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.run_action(target, default_namespace=screen)

        return run
