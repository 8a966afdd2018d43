/** Which keys of the configuration differ, and which of them take effect while the process runs. */
import { isObject, jsonEqual } from '../core/json.ts'
import type { Config } from './config.ts'

/** The keys whose values differ, as paths: `volumes.movers.maxInAll`. A list counts as one value. */
export function changedKeys(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (!isObject(before) || !isObject(after)) return jsonEqual(before, after) ? [] : [path.join('.')]
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    changedKeys(before[key], after[key], [...path, key]),
  )
}

/** A configuration that moves data needs other loops, and other kinds in the cache. */
const NEEDS_RESTART = 'volumes.enabled'

/** Whether a change of the key takes effect at once. */
export function takesEffect(key: string): boolean {
  return key.startsWith('volumes.') && key !== NEEDS_RESTART
}

/** The configuration from now on: it takes the new values of the keys that can change at run time. */
export function changeable(used: Config, read: Config): Config {
  return { ...used, volumes: { ...read.volumes, enabled: used.volumes.enabled } }
}
