/** Reads options whose value is a port. */
import { type Arguments, UsageError } from '../command.ts'

/** Returns the port of an option; undefined without it. 0 is a free port. Throws `UsageError` for another value. */
export function readPort(args: Arguments, option: string): number | undefined {
  const text = args.text(option)
  if (text === undefined) return undefined
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65535) throw new UsageError(`--${option} takes a port from 0 to 65535, not ${text}`)
  return port
}
