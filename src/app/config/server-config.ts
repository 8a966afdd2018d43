/** The server part of the configuration: addresses, limits, and the drain at a stop. */
import type { FieldError } from '../../base/field-errors.ts'
import { BYTES, parseBytes } from '../../base/quantity.ts'
import { DEFAULT_LIMITS, type ServerLimits } from '../../server/limits.ts'
import { EVERY_ADDRESS } from '../../server/listen.ts'
import { field, list, optional, port, section, text } from './section.ts'

const bytes = { type: 'string', pattern: BYTES.source, errorMessage: 'must be an amount of bytes such as 64Mi' }

/** With a port or in brackets it is no address to listen at. Helm has this pattern only; the start has the last word. */
const listenHost = {
  ...text,
  pattern:
    '^([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?\\.?|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f.:]*(%[-.A-Za-z0-9]+)?)$',
  errorMessage: 'must be an IP address or a host name, without a port, e.g. 10.0.0.7 or ::',
}

export const serverSection = section({
  host: field(listenHost, EVERY_ADDRESS, 'Address of admission, over HTTPS; `::` is every address, of IPv6 and IPv4.'),
  port: field(port, 9443, 'Port of admission; 0 selects a free one.'),
  healthHost: field(
    listenHost,
    EVERY_ADDRESS,
    'Address of `/livez`, `/readyz` and `/metrics`, over plain HTTP; `::` as in `host`.',
  ),
  healthPort: field(port, 8080, 'Port of `/livez`, `/readyz` and `/metrics`; 0 selects a free one.'),
  maxInFlight: field(
    { type: 'integer', minimum: 1 },
    DEFAULT_LIMITS.inFlight,
    'Complete requests that may wait for their decision.',
  ),
  maxConnections: field({ type: 'integer', minimum: 10 }, DEFAULT_LIMITS.connections, 'Open connections.'),
  maxBytesInFlight: field(bytes, '64Mi', 'Bytes of bodies and answers in memory; at least `7Mi`.'),
  drainSeconds: field(
    { type: 'number', minimum: 0, maximum: 300 },
    10,
    'How long a stopping server is not ready and still serves, so that callers leave before it closes.',
  ),
  livenessStallSeconds: field(
    { type: 'number', minimum: 1 },
    60,
    '`/livez` fails if the main thread is busy with one task for longer.',
  ),
  clientCaFile: optional<string>(
    text,
    'PEM file; callers of webhooks must have a certificate of this CA. Read again when it changes.',
  ),
  clientNames: list(
    [],
    'Accepted common names or DNS names of the certificate; if empty, every certificate of the CA is accepted.',
  ),
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
