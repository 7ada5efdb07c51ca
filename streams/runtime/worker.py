"""The Faust worker: one agent over the game-finished topic, ownership following Faust's assignment."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import faust
from aiokafka.errors import KafkaError
from faust.types import TP

from streams.core.outcomes import OutcomeCounts
from streams.core.rules import LadderRules
from streams.runtime.assignment import Assignment
from streams.runtime.backlog import BacklogProbe
from streams.runtime.clock import clock_of_environment
from streams.runtime.connection_errors import show_client_log
from streams.runtime.exit_statuses import EXIT_FAILED, EXIT_REFUSED, leave_at_once
from streams.runtime.fencings import Fencings, temporary_folder
from streams.runtime.health import Listening, observe
from streams.runtime.layout import PartitionsChangedError, check_partitions
from streams.runtime.log_filter import quieten
from streams.runtime.logs import TEXT, set_up_logging
from streams.runtime.metrics import FENCINGS
from streams.runtime.partition import Partition
from streams.runtime.reader import reading
from streams.runtime.settings import Settings
from streams.runtime.topic_watch import LOOK_INTERVAL, Ending, TopicWatch
from streams.runtime.transport import BatchSchema, BatchTransport
from streams.runtime.watchdog import CHECK_INTERVAL, Watchdog

log = logging.getLogger(__name__)

# After a crash the group waits this long for the dead member: long enough for a pause of a busy machine.
SESSION_TIMEOUT = 10.0
HEARTBEAT_INTERVAL = 3.0
REBALANCE_TIMEOUT = 30.0
# Offsets are committed in the transactions alone: Faust's own commits are set out of reach.
_NEVER = 10**9
# Fetches, not records: what is buffered is bounded in `transport`. When an agent's buffer is full, Faust
# sleeps for a whole second.
_BUFFERED_FETCHES = 1_000
_MAX_FETCH_BYTES = 8 * 1024 * 1024
# One poll's records; several polls go into one transaction.
_MAX_POLL_RECORDS = 10_000
_REPORT_INTERVAL = 10.0
# Seconds between two looks whether the input has as many partitions as before.
_LAYOUT_INTERVAL = 10.0
# How late a week may end by the clock.
_TICK_SECONDS = 1.0


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker works, beside what a deployment is.

    With `writes_input` it appends the week-ended records of its partitions when they are due, and forwards
    what lies away from home. Without `listening` it shows no metrics.
    """

    loglevel: str = "info"
    log_format: str = TEXT
    writes_input: bool = True
    listening: Listening | None = None


def run_worker(settings: Settings, rules: Mapping[str, LadderRules], options: WorkerOptions) -> None:
    """Run a worker until a signal stops it, and end the process (`exit_statuses` says with which status).

    `settings.partitions` is the number of partitions that the input has.
    """
    set_up_logging(options.loglevel, options.log_format)
    quieten()
    show_client_log()
    app = new_app(settings, rules, options)
    try:
        worker = faust.Worker(
            app, loglevel=options.loglevel, quiet=True, override_logging=False, redirect_stdouts=False
        )
        # It would draw on the terminal between the lines of the log.
        worker.spinner = None
        worker.execute_from_commandline()
    except SystemExit as error:
        if not error.code:
            raise
        _leave(settings, f"Faust has given up with status {error.code}")
    except Exception as error:  # whatever it is: Faust has given up
        log.exception("Faust has given up")
        _leave(settings, repr(error))


def _leave(settings: Settings, cause: str) -> None:
    """End the process of a worker that Faust has given up, with what the broker says of it, if it does."""
    ending = asyncio.run(TopicWatch(settings).look((), time.monotonic()))
    if ending is None:
        ending = Ending(EXIT_FAILED, f"the worker failed: {cause}; leaving")
    leave_at_once(ending.status, ending.reason)


def new_app(settings: Settings, rules: Mapping[str, LadderRules], options: WorkerOptions) -> faust.App:
    """Return the Faust app of a worker."""
    app = faust.App(
        settings.app_id,
        **settings.connection.faust_arguments(),
        store="memory://",
        datadir=str(temporary_folder()),
        web_enabled=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        topic_partitions=settings.partitions,
        key_serializer="raw",
        value_serializer="raw",
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=_MAX_FETCH_BYTES,
        broker_max_poll_records=_MAX_POLL_RECORDS,
        stream_buffer_maxsize=_BUFFERED_FETCHES,
        stream_wait_empty=False,
        broker_commit_interval=float(_NEVER),
        broker_commit_every=_NEVER,
        broker_session_timeout=SESSION_TIMEOUT,
        broker_heartbeat_interval=HEARTBEAT_INTERVAL,
        broker_rebalance_timeout=REBALANCE_TIMEOUT,
    )
    app.transport = BatchTransport(app.conf.broker, app)
    _attach(app, settings, rules, options)
    return app


def _attach(
    app: faust.App, settings: Settings, rules: Mapping[str, LadderRules], options: WorkerOptions
) -> None:
    async def seek(partition: Partition, offset: int) -> None:
        await app.consumer.seek(TP(*partition.tp), offset)

    assignment = Assignment(
        lambda number: Partition(settings, rules, number, forwards=options.writes_input),
        seek,
        clock_of_environment(),
        _fencings(settings, options),
    )
    # Without acks, or Faust would take what lies within a fetch for a gap, and keep every gap for ever.
    games = app.topic(settings.input_topic, schema=BatchSchema(), partitions=settings.partitions, acks=False)

    @app.on_partitions_assigned.connect
    async def assigned(_app: faust.App, assigned: set[TP], **_: Any) -> None:
        # More than there were have no home here; `_watch_layout` ends the process.
        numbers = [tp.partition for tp in assigned if tp.topic == settings.input_topic]
        assignment.assign(number for number in numbers if number < settings.partitions)
        assignment.forget_others()

    @app.on_partitions_revoked.connect
    async def revoked(_app: faust.App, revoked: set[TP], **_: Any) -> None:
        await assignment.revoke(tp.partition for tp in revoked if tp.topic == settings.input_topic)

    @app.on_before_shutdown.connect
    async def stop(_app: faust.App, **_: Any) -> None:
        await assignment.stop()

    @app.agent(games)
    async def rate(stream: Any) -> None:
        # Events are never acknowledged: an offset is committed with the rows that follow from it.
        async for event in stream.noack().events():
            assignment.deliver(event.message.tp.partition, event.value)

    _attach_tasks(app, settings, assignment, options)


def _fencings(settings: Settings, options: WorkerOptions) -> Callable[[], None]:
    """Return what counts a fencing, for good where somebody can ask for it."""
    if options.listening is None:
        return FENCINGS.inc
    fencings = Fencings(settings.app_id, options.listening.port)
    fencings.restore()
    return fencings.note


def _attach_tasks(app: faust.App, settings: Settings, assignment: Assignment, options: WorkerOptions) -> None:
    @app.timer(interval=_TICK_SECONDS)
    async def weeks() -> None:
        if options.writes_input:
            assignment.tick()

    @app.task
    async def report() -> None:
        await _report(app, assignment)

    @app.task
    async def watch() -> None:
        await _watch(app, settings, assignment)

    @app.task
    async def watch_topics() -> None:
        await _watch_topics(app, settings, assignment)

    if options.listening is not None:
        listening = options.listening

        @app.task
        async def show() -> None:
            async with reading(settings.connection) as reader:
                backlog = BacklogProbe(reader, settings.connection, clock_of_environment())
                await observe(app, assignment, backlog, listening)

    @app.task
    async def watch_layout() -> None:
        await _watch_layout(app, settings, assignment)


async def _goes_on(app: faust.App, seconds: float) -> bool:
    """Wait for so long, or until the worker stops, and say whether it goes on."""
    await app.sleep(seconds)
    return not app.should_stop


async def _watch_topics(app: faust.App, settings: Settings, assignment: Assignment) -> None:
    """End the process when its topics or the broker are gone."""
    topic_watch = TopicWatch(settings)
    while await _goes_on(app, LOOK_INTERVAL):
        ending = await topic_watch.look(assignment.partitions, time.monotonic())
        if ending is not None and not app.should_stop:
            leave_at_once(ending.status, ending.reason)


async def _report(app: faust.App, assignment: Assignment) -> None:
    """Log what was done, every few seconds in which something was."""
    games = 0
    while await _goes_on(app, _REPORT_INTERVAL):
        partitions = assignment.partitions
        done = sum(partition.games for partition in partitions)
        if done != games:
            log.info("%s; %.0f games/s", _counted(partitions), max(0, done - games) / _REPORT_INTERVAL)
        games = done


def _counted(partitions: list[Partition]) -> str:
    shown = [partition.counts.shown() for partition in partitions]
    return f"{len(partitions)} partitions: " + ", ".join(
        f"{sum(counts[name] for counts in shown)} {name}" for name in OutcomeCounts().shown()
    )


async def _watch(app: faust.App, settings: Settings, assignment: Assignment) -> None:
    """End the process when a partition is stuck: others can take it over."""
    async with reading(settings.connection) as reader:
        watchdog = Watchdog(reader, settings.connection)
        while await _goes_on(app, CHECK_INTERVAL):
            stuck = await watchdog.stuck(assignment.partitions, time.monotonic())
            if stuck is not None:
                leave_at_once(
                    EXIT_FAILED, f"partition {stuck.tp.partition} is stuck at offset {stuck.next_offset}"
                )


async def _watch_layout(app: faust.App, settings: Settings, assignment: Assignment) -> None:
    """End the process in order when the input has more partitions than before: homes are no longer right."""
    while await _goes_on(app, _LAYOUT_INTERVAL):
        try:
            await check_partitions(settings)
        except PartitionsChangedError as error:
            await assignment.stop()
            leave_at_once(EXIT_REFUSED, str(error))
        except KafkaError as error:
            log.warning("the broker does not say how many partitions there are: %s", error)
