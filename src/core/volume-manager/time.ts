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
