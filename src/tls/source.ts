/** The certificate that a server serves, wherever it comes from, and word of every change to it. */
import type { Ticker } from './ticker.ts'

export interface ServingCertificates {
  /** The serving certificate, followed by intermediates if it has any. */
  certPem: string
  keyPem: string
  /** What callers should trust, for `caBundle`; undefined when that is not ours to say (bring your own, without a CA). */
  caBundlePem: string | undefined
  /** When the serving certificate expires, in ms since 1970. */
  notAfter: number
}

export interface CertificateSource {
  current(): ServingCertificates
  /**
   * Calls `listener` after each change, of the certificate or of the bundle alone. Gives the way to unsubscribe.
   * A listener that calls `server.setSecureContext` has to give it every TLS option again, `minVersion` and `ca` included.
   */
  subscribe(listener: (certificates: ServingCertificates) => void): () => void
  /** Looks at once instead of at the next tick; resolves when it is done and never rejects: failures go to the observer. */
  check(): Promise<void>
  /** Stops looking. The current certificate stays readable. */
  stop(): void
}

/** Hears what happens to certificates; for logs and metrics. */
export interface CertificateObserver {
  /** A new CA or leaf was made by this process, or a new CA began to sign. */
  renewed?(what: 'authority-published' | 'authority-signs' | 'leaf', reason: string): void
  /** Another certificate or another bundle is served from now on. */
  changed?(certificates: ServingCertificates): void
  /** A check failed; the last good certificate is still served. */
  failed?(error: Error): void
}

/** Holds what is served and tells of changes; the part of a source that does not depend on where certificates come from. */
export class CertificateHolder {
  #current: ServingCertificates | undefined
  readonly #listeners = new Set<(certificates: ServingCertificates) => void>()
  readonly #observer: CertificateObserver

  constructor(observer: CertificateObserver) {
    this.#observer = observer
  }

  /** The served certificate; undefined before the first `set`. */
  get(): ServingCertificates | undefined {
    return this.#current
  }

  /** The source that callers see: what is held, looked after by `ticker` until it is stopped; `close` ends what else looks. */
  source(ticker: Ticker, close?: () => void): CertificateSource {
    return {
      current: () => {
        if (this.#current === undefined) throw new Error('certificates were asked for before there were any')
        return this.#current
      },
      subscribe: (listener) => this.subscribe(listener),
      check: () => ticker.run(),
      stop: () => {
        ticker.stop()
        close?.()
      },
    }
  }

  /** Serves `next` from now on. Does not notify listeners if nothing changed. */
  set(next: ServingCertificates): void {
    const before = this.#current
    if (before?.certPem === next.certPem && before.keyPem === next.keyPem && before.caBundlePem === next.caBundlePem)
      return
    this.#current = next
    this.#observer.changed?.(next)
    for (const listener of this.#listeners) {
      try {
        listener(next)
      } catch (error) {
        // One listener that fails must not keep the certificate from the others, nor end the checks.
        this.fail(error)
      }
    }
  }

  subscribe(listener: (certificates: ServingCertificates) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  fail(error: unknown): void {
    this.#observer.failed?.(error instanceof Error ? error : new Error(String(error)))
  }
}
