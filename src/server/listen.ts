/** Runs a function that listens, and explains which options choose another address if it cannot. */
import { networkInterfaces } from 'node:os'

/** Every address of the machine, of both families: a cluster may have IPv6 only. */
export const EVERY_ADDRESS = '::'
/** Every address of a machine without IPv6, where the former cannot be used. */
const EVERY_IPV4_ADDRESS = '0.0.0.0'

export interface ListenAddress {
  host: string
  port: number
  /** The option of the port, and its key of the configuration, if it has one. */
  option: string
  portKey?: string
  /** The option or key that names the host. */
  hostSetting: string
}

/** The cause and the way out of each error that the user can solve. */
const CAUSES: Readonly<Record<string, (address: ListenAddress) => string>> = {
  EADDRINUSE: (address) =>
    `another process uses the port; choose another one with ${describeOption(address)}, 0 for a free one`,
  EACCES: (address) =>
    `the port requires more rights; choose one above 1023 with ${describeOption(address)}, 0 for a free one`,
  EADDRNOTAVAIL: ({ hostSetting }) => `the host is not an address of this machine; change ${hostSetting}`,
  ENOTFOUND: ({ hostSetting }) => `the host has no address; change ${hostSetting}`,
}

function describeOption({ option, portKey }: ListenAddress): string {
  return portKey === undefined ? option : `${option} or ${portKey}`
}

/**
 * Calls `open` with the host to listen on. Throws an error with the address, the cause and the way out if it cannot listen. Throws any other error
 * unchanged.
 */
export async function listen<T>(address: ListenAddress, open: (host: string) => Promise<T>): Promise<T> {
  try {
    return await open(usableHost(address.host, networkInterfaces()))
  } catch (error) {
    throw explain(error, address)
  }
}

/** Returns the host to listen on, on a machine with these interfaces. */
export function usableHost(host: string, interfaces: ReturnType<typeof networkInterfaces>): string {
  if (host !== EVERY_ADDRESS) return host
  const addresses = Object.values(interfaces).flatMap((each) => each ?? [])
  return addresses.some(({ family }) => family === 'IPv6') ? EVERY_ADDRESS : EVERY_IPV4_ADDRESS
}

function explain(error: unknown, address: ListenAddress): unknown {
  const { code = '' } = error as NodeJS.ErrnoException
  const cause = Object.hasOwn(CAUSES, code) ? CAUSES[code]?.(address) : undefined
  if (cause === undefined) return error
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return Object.assign(new Error(`cannot listen on ${host}:${address.port}: ${cause}`, { cause: error }), { code })
}
