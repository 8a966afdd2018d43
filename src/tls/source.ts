/** The interface of certificate sources: the current serving certificate, and subscriptions to its changes. */
import type { Ticker } from './ticker.ts'

export interface ServingCertificates {
  /** The serving certificate, followed by its intermediates. */
  certPem: string
  keyPem: string
  /** The CAs that callers should trust, for `caBundle`; undefined for certificate files without a CA. */
  caBundlePem: string | undefined
  /** When the serving certificate expires, in ms since the epoch. */
  notAfter: number
}

export interface CertificateSource {
  current(): ServingCertificates
  /**
   * Calls `listener` after each change of the certificate or the bundle. Returns a function that unsubscribes. A listener that calls
   * `server.setSecureContext` must pass every TLS option again, including `minVersion` and `ca`.
   */
  subscribe(listener: (certificates: ServingCertificates) => void): () => void
  /** Runs a check now. Resolves when the check is done, and never rejects: failures are reported to the observer. */
  check(): Promise<void>
  /** Ends the checks. `current` still returns the certificate. */
  stop(): void
}

/** The events of certificates, for logs and metrics. */
export interface CertificateObserver {
  /** This process created a CA or a leaf, or a new CA began to sign. */
  renewed?(certificate: 'next CA' | 'signing CA' | 'serving certificate', reason: string): void
  /** The served certificate or the bundle changed. */
  changed?(certificates: ServingCertificates): void
  /** A check failed. The last valid certificate stays in use. */
  failed?(error: Error): void
}

/** The current certificate with its listeners, shared by all sources. */
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

  /** Returns the source. `ticker` runs its checks; `stop` of the source stops the ticker and calls `close`. */
  source(ticker: Ticker, close?: () => void): CertificateSource {
    return {
      current: () => {
        if (this.#current === undefined) throw new Error('no certificate is loaded yet')
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

  /** Replaces the current certificate, and calls the listeners if it changed. */
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
        // An error of a listener is reported. The other listeners are still called, and the checks continue.
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
