/** The part of the configuration that is about the server: where it listens, its limits, and how it stops. */
import type { FieldError } from '../core/field-errors.ts'
import { BYTES, parseBytes } from '../core/quantity.ts'
import { DEFAULT_LIMITS, type ServerLimits } from '../server/limits.ts'

export interface ServerConfig {
  /** Where admission listens. */
  host: string
  port: number
  /** Where probes and metrics listen, without TLS. */
  healthHost: string
  healthPort: number
  /** Complete requests that wait for their decision at once. */
  maxInFlight: number
  /** Open connections of callers. */
  maxConnections: number
  /** Bytes of bodies and answers in memory, as `64Mi`. */
  maxBytesInFlight: string
  /** How long a stopping server goes on serving, so that no caller is sent to it any more when it closes. */
  drainSeconds: number
  /** Liveness fails when the main thread has been busy with one thing for longer. */
  livenessStallSeconds: number
  /** PEM file; callers must show a certificate of this CA. */
  clientCaFile?: string
  /** Names that the certificate of a caller must contain one of. Without any, every certificate of the CA is accepted. */
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
const port = { type: 'integer', minimum: 0, maximum: 65535 }

/** JSON Schema of the part. */
export const serverSchema = {
  type: 'object',
  properties: {
    host: text,
    port,
    healthHost: text,
    healthPort: port,
    maxInFlight: { type: 'integer', minimum: 1 },
    maxConnections: { type: 'integer', minimum: 10 },
    maxBytesInFlight: { type: 'string', pattern: BYTES.source },
    drainSeconds: { type: 'number', minimum: 0, maximum: 300 },
    livenessStallSeconds: { type: 'number', minimum: 1 },
    clientCaFile: text,
    clientNames: { type: 'array', items: text },
  },
}

/** Rules that the schema cannot express. */
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

/** The limits of the server as they are configured. */
export function limitsOf({ maxInFlight, maxConnections, maxBytesInFlight }: ServerConfig): ServerLimits {
  const bytesInFlight = parseBytes(maxBytesInFlight) ?? DEFAULT_LIMITS.bytesInFlight
  return { ...DEFAULT_LIMITS, inFlight: maxInFlight, connections: maxConnections, bytesInFlight }
}
