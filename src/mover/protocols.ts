/** The table of protocols that the mover speaks. The scheme of the URL selects one. */
import type { ObjectPlace } from '../base/objects.ts'
import { AZURE_PROTOCOL } from './azure/protocol.ts'
import type { Protocol } from './objects/object-store.ts'
import { S3_PROTOCOL } from './s3/protocol.ts'

export const PROTOCOLS: readonly Protocol[] = [S3_PROTOCOL, AZURE_PROTOCOL]

/** The protocol and the place of a URL; undefined for a URL that no protocol reads. */
export function findProtocol(url: string): { protocol: Protocol; place: ObjectPlace } | undefined {
  for (const protocol of PROTOCOLS) {
    const place = protocol.parse(url)
    if (place !== undefined) return { protocol, place }
  }
  return undefined
}
