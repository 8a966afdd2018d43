/** Times as a status has them. */

/** To the second, as Kubernetes writes times. */
export function toTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** In ms since the epoch; undefined for one that is absent or no time. */
export function fromTime(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

/** The latest of some times, as it is written; undefined where none is a time. */
export function latestOf(times: readonly string[]): string | undefined {
  let latest: string | undefined
  let latestMs = Number.NEGATIVE_INFINITY
  for (const time of times) {
    const ms = fromTime(time) ?? Number.NEGATIVE_INFINITY
    if (ms > latestMs) [latest, latestMs] = [time, ms]
  }
  return latest
}
