/** The limits of the admission server, with their defaults. */

export interface ServerLimits {
  /** Largest body in bytes; object, old object and envelope of the largest object that etcd takes fit in 7 MiB. */
  bodyBytes: number
  /** Complete requests that wait for their decision at once; more are answered 503. */
  inFlight: number
  /** Bytes of bodies and answers in memory; beyond it the one that occupied most for longest is given up. */
  bytesInFlight: number
  /** Open connections, those in their TLS handshake included; beyond it one of no use so far is closed. */
  connections: number
  /** Largest header section in bytes; more is answered 431. */
  headerBytes: number
  handshakeTimeoutMs: number
  /**
   * From the connection, or the first byte of a later request, to the last byte of the headers. kube-apiserver keeps connections that it
   * opened and did not need yet for 90 s: closed any earlier, one of them could take a request along.
   */
  headersTimeoutMs: number
  /** Likewise to the last byte of the body. Slow requests cost no others anything, so they need no shorter time. */
  requestTimeoutMs: number
  /** How often the two timeouts above are checked. */
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
