/** The server part of the configuration: addresses, limits, and the drain at a stop. */
import type { FieldError } from '../../base/field-errors.ts'
import { BYTES, parseBytes } from '../../base/quantity.ts'
import { DEFAULT_LIMITS, type ServerLimits } from '../../server/limits.ts'

export interface ServerConfig {
  /** The address of the admission server. */
  host: string
  port: number
  /** The address of probes and metrics, without TLS. */
  healthHost: string
  healthPort: number
  /** The maximum number of complete requests that wait for their decision. */
  maxInFlight: number
  /** The maximum number of open connections. */
  maxConnections: number
  /** The maximum bytes of bodies and responses in memory, e.g. `64Mi`. */
  maxBytesInFlight: string
  /** How long a stopping server continues to serve, so that callers use other replicas before it closes. */
  drainSeconds: number
  /** Liveness fails if the main thread has been busy with one task for longer. */
  livenessStallSeconds: number
  /** A PEM file; callers need a client certificate of this CA. */
  clientCaFile?: string
  /** The accepted names of client certificates. If empty, every certificate of the CA is accepted. */
  clientNames: string[]
}

export const DEFAULT_SERVER: ServerConfig = {
  host: '0.0.0.0',
  port: 9443,
  healthHost: '0.0.0.0',
  healthPort: 8080,
  maxInFlight: DEFAULT_LIMITS.inFlight,
  maxConnections: DEFAULT_LIMITS.connections,
  maxBytesInFlight: '64Mi',
  drainSeconds: 10,
  livenessStallSeconds: 60,
  clientNames: [],
}

const text = { type: 'string', minLength: 1 }
const bytes = { type: 'string', pattern: BYTES.source, errorMessage: 'must be an amount of bytes such as 64Mi' }
const port = { type: 'integer', minimum: 0, maximum: 65535 }

export const serverSchema = {
  type: 'object',
  properties: {
    host: text,
    port,
    healthHost: text,
    healthPort: port,
    maxInFlight: { type: 'integer', minimum: 1 },
    maxConnections: { type: 'integer', minimum: 10 },
    maxBytesInFlight: bytes,
    drainSeconds: { type: 'number', minimum: 0, maximum: 300 },
    livenessStallSeconds: { type: 'number', minimum: 1 },
    clientCaFile: text,
    clientNames: { type: 'array', items: text },
  },
}

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
