/** Finds the changed keys of the configuration, and decides which of them take effect at run time. */
import { isObject, jsonEqual } from '../../base/json.ts'
import type { Config } from './config.ts'

/** Returns the keys with different values, as paths: `volumes.movers.maxInAll`. A list counts as one value. */
export function changedKeys(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (!isObject(before) || !isObject(after)) return jsonEqual(before, after) ? [] : [path.join('.')]
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    changedKeys(before[key], after[key], [...path, key]),
  )
}

/** To move data, other loops and other cached kinds are needed. */
const NEEDS_RESTART = 'volumes.enabled'

/** Whether a change of the key takes effect immediately. */
export function takesEffect(key: string): boolean {
  return key.startsWith('volumes.') && key !== NEEDS_RESTART
}

/** Returns the used configuration with the new values of all keys that can change at run time. */
export function changeable(used: Config, read: Config): Config {
  return { ...used, volumes: { ...read.volumes, enabled: used.volumes.enabled } }
}
