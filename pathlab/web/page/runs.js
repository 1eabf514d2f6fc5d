// What is known of the runs that write the results, and of the connection to them.

const RUNS = ["running", "pausing", "paused", "stopping"];
/** @type {Record<string, string>} */
export const RUN_STATES = {
  running: "Running",
  pausing: "Pausing after the current trial",
  paused: "Paused",
  stopping: "Stopping after the current trial",
  finished: "Finished",
  ended: "Ended before its plan was complete",
  killed: "Killed: the process ended during the run. Everything measured is shown.",
  stored: "No run writes these results",
};

/** What is known of the run of each of the results, by label. */
/** @type {Map<string, Run>} */
export const runs = new Map();
export const liveState = { link: "closed" };

/**
 * Whether a process writes these results now.
 * @param {Run | null} run
 */
export const isRunning = (run) => run !== null && RUNS.includes(run.state);
