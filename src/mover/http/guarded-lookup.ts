/** Resolves names for connections, and rejects loopback and link-local addresses of the node. */
import { type LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { localHostFault } from '../../base/net/local-address.ts'
import { MoverError } from '../mover-error.ts'

/** Resolves all addresses of a name, as `dns.lookup` does. */
export type Resolve = (
  name: string,
  options: { all: true; family?: number | 'IPv4' | 'IPv6' | undefined; hints?: number | undefined },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Returns the lookup function of a connection. The connection uses only the checked addresses, so a name that resolves to another address
 * next time does not bypass the check.
 */
export function guardedLookup({
  localNetworks,
  resolve = lookup,
}: {
  localNetworks: readonly string[]
  resolve?: Resolve
}): LookupFunction {
  return (name, { family, hints, all }, done) =>
    resolve(name, { all: true, family, hints }, (error, addresses) => {
      if (error) return done(error, [])
      const faults = addresses.map(({ address }) => localHostFault(address, localNetworks))
      const fault = faults.find((one) => one !== undefined)
      if (fault !== undefined)
        return done(notAllowed(`${name} resolves to an address that is not allowed: ${fault}`), [])
      const [first] = addresses
      if (all) done(null, addresses)
      else done(null, first?.address ?? '', first?.family)
    })
}

export function notAllowed(fault: string): MoverError {
  const remedy = 'use another host, or add its network to volumes.allowedLocalNetworks (--local-network)'
  return new MoverError('Rejected', `${fault}; ${remedy}`)
}
