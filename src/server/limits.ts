/** The limits of the admission server, with their defaults. */

export interface ServerLimits {
  /** The maximum size of a body in bytes. The largest object in etcd fits in 7 MiB with the old object and the envelope. */
  bodyBytes: number
  /** The maximum number of complete requests that wait for their decision. Further ones get HTTP 503. */
  inFlight: number
  /** The maximum bytes of bodies and responses in memory. When it is exceeded, the one with the highest bytes × age is dropped. */
  bytesInFlight: number
  /**
   * The maximum number of open connections, with those in their TLS handshake. At the limit, a new connection closes the least useful one.
   */
  connections: number
  /** The maximum size of the headers in bytes. Larger ones get HTTP 431. */
  headerBytes: number
  handshakeTimeoutMs: number
  /**
   * The time from the connection, or from the first byte of a later request, to the last byte of the headers. kube-apiserver keeps unused
   * connections for 90 s; with a shorter time, one could be closed while a request begins.
   */
  headersTimeoutMs: number
  /** The same, to the last byte of the body. Slow requests do not delay others. */
  requestTimeoutMs: number
  /** The interval at which the two timeouts above are checked. */
  connectionCheckMs: number
  /** A connection is closed if its response makes no progress for this time. */
  stalledTimeoutMs: number
  /** Longer than the 90 s of kube-apiserver, so that Lodestone does not close an idle connection while a request begins. */
  keepAliveTimeoutMs: number
}

export const DEFAULT_LIMITS: ServerLimits = {
  bodyBytes: 7 * 1024 * 1024,
  inFlight: 256,
  bytesInFlight: 64 * 1024 * 1024,
  connections: 500,
  headerBytes: 16 * 1024,
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 120_000,
  requestTimeoutMs: 120_000,
  connectionCheckMs: 1_000,
  stalledTimeoutMs: 30_000,
  keepAliveTimeoutMs: 120_000,
}
