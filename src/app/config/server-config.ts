/** The server part of the configuration: addresses, limits, and the drain at a stop. */
import type { FieldError } from '../../base/field-errors.ts'
import { BYTES, parseBytes } from '../../base/quantity.ts'
import { DEFAULT_LIMITS, type ServerLimits } from '../../server/limits.ts'
import { field, list, optional, port, section, text } from './section.ts'

const bytes = { type: 'string', pattern: BYTES.source, errorMessage: 'must be an amount of bytes such as 64Mi' }

export const serverSection = section({
  /** The address of the admission server. */
  host: field(text, '0.0.0.0'),
  port: field(port, 9443),
  /** The address of probes and metrics, without TLS. */
  healthHost: field(text, '0.0.0.0'),
  healthPort: field(port, 8080),
  /** The maximum number of complete requests that wait for their decision. */
  maxInFlight: field({ type: 'integer', minimum: 1 }, DEFAULT_LIMITS.inFlight),
  /** The maximum number of open connections. */
  maxConnections: field({ type: 'integer', minimum: 10 }, DEFAULT_LIMITS.connections),
  /** The maximum bytes of bodies and responses in memory, e.g. `64Mi`. */
  maxBytesInFlight: field(bytes, '64Mi'),
  /** How long a stopping server continues to serve, so that callers use other replicas before it closes. */
  drainSeconds: field({ type: 'number', minimum: 0, maximum: 300 }, 10),
  /** Liveness fails if the main thread has been busy with one task for longer. */
  livenessStallSeconds: field({ type: 'number', minimum: 1 }, 60),
  /** A PEM file; callers need a client certificate of this CA. */
  clientCaFile: optional<string>(text),
  /** The accepted names of client certificates. If empty, every certificate of the CA is accepted. */
  clientNames: list(),
})

type ServerConfig = typeof serverSection.default

/** Returns errors that the schema cannot express. */
export function serverErrors({ maxBytesInFlight, clientCaFile, clientNames }: ServerConfig): FieldError[] {
  const errors: FieldError[] = []
  const least = DEFAULT_LIMITS.bodyBytes
  if ((parseBytes(maxBytesInFlight) ?? 0) < least) {
    const message = `must be at least ${least / 2 ** 20}Mi, the largest body`
    errors.push({ path: 'server.maxBytesInFlight', code: 'Invalid', message })
  }
  if (clientNames.length > 0 && clientCaFile === undefined) {
    const message = 'needs server.clientCaFile, by which certificates are verified'
    errors.push({ path: 'server.clientNames', code: 'Invalid', message })
  }
  return errors
}

/** Returns the limits of the server from its configuration. */
export function configuredLimits({ maxInFlight, maxConnections, maxBytesInFlight }: ServerConfig): ServerLimits {
  const bytesInFlight = parseBytes(maxBytesInFlight) ?? DEFAULT_LIMITS.bytesInFlight
  return { ...DEFAULT_LIMITS, inFlight: maxInFlight, connections: maxConnections, bytesInFlight }
}
