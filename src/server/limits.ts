/** The limits of the admission server, with their defaults. */

export interface ServerLimits {
  /** Largest body in bytes; object, old object and envelope of the largest object that etcd takes fit in 7 MiB. */
  bodyBytes: number
  /** Complete requests that may wait for their decision; more get 503. */
  inFlight: number
  /** Bytes of bodies and answers in memory; beyond it the one with the most bytes × age is dropped. */
  bytesInFlight: number
  /** Open connections, those in their TLS handshake included; beyond it the least useful one is closed. */
  connections: number
  /** Largest header section in bytes; more gets 431. */
  headerBytes: number
  handshakeTimeoutMs: number
  /**
   * From the connection, or the first byte of a later request, to the last byte of the headers. kube-apiserver keeps unused connections for
   * 90 s. A shorter time could close one together with a request.
   */
  headersTimeoutMs: number
  /** Likewise to the last byte of the body. Slow requests do not delay others. */
  requestTimeoutMs: number
  /** Interval of the check of the two timeouts above. */
  connectionCheckMs: number
  /** A connection on which an answer makes no progress is closed after this time. */
  stalledTimeoutMs: number
  /** Longer than the API server's 90 s, so that Lodestone never closes an idle connection under a request. */
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
