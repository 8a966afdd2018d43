/** Provides a server with a certificate that its callers trust. It creates and renews the certificate, and all replicas share it. */
import { normalizeHosts } from './hosts.ts'
import { type CertificatePlan, changesCertificates, planCertificates } from './plan-certificates.ts'
import { CHECK_INTERVAL_MS, OVERLAP_MS } from './renew.ts'
import { applyCertificatePlan, gatherCertificates } from './renewal.ts'
import { CertificateHolder, type CertificateObserver, type CertificateSource } from './source.ts'
import type { CertificateStorage, StoredCertificates } from './storage.ts'
import { joinCaBundle } from './stored-files.ts'
import { startTicker } from './ticker.ts'
import { parseCertificates } from './x509.ts'

export interface OpenCertificatesInput {
  storage: CertificateStorage
  /** The DNS names and IP addresses at which callers reach the server. */
  hosts: readonly string[]
  /** The wall clock, in ms since the epoch. */
  now: () => number
  observer?: CertificateObserver
  /**
   * Whether the registration has this bundle; undefined when this is unknown. While the result is false, a new CA does not sign, for any
   * time: the old CA is valid for months.
   */
  isPublished?: (caBundlePem: string) => boolean | undefined
  /** Whether to publish a new CA now although none is due. It begins to sign after the overlap. */
  renewAuthority?: boolean
}

// More than the steps of any rotation. Only replicas that undo each other's changes exceed it.
const MAX_ROUNDS = 8

/**
 * Reads or creates the certificates, and renews them until `stop`. Rejects when no certificate can be served: with
 * `BrokenCertificatesError` for invalid stored certificates, an error of the storage, or an Error for invalid `hosts`. Later failures are
 * reported to the observer, and the last valid certificate stays in use.
 */
export async function openCertificates(input: OpenCertificatesInput): Promise<CertificateSource> {
  return new Rotation(input).open()
}

class Rotation {
  readonly #input: OpenCertificatesInput
  readonly #hosts: readonly string[]
  readonly #observer: CertificateObserver
  readonly #holder: CertificateHolder
  #isRenewalRequested: boolean
  #next: { certPem: string; knownSince: number } | undefined
  /** The stored state as last read. */
  #last: StoredCertificates | undefined

  constructor(input: OpenCertificatesInput) {
    this.#input = input
    this.#hosts = normalizeHosts(input.hosts)
    this.#observer = input.observer ?? {}
    this.#holder = new CertificateHolder(this.#observer)
    this.#isRenewalRequested = input.renewAuthority ?? false
  }

  /** Runs the first check. Its failure is fatal only if there is no certificate to serve. */
  async open(): Promise<CertificateSource> {
    try {
      await this.#settle()
    } catch (error) {
      if (this.#holder.get() === undefined) throw error
      this.#holder.fail(error)
    }
    return this.#holder.source(startTicker(() => this.#look(), CHECK_INTERVAL_MS))
  }

  async #look(): Promise<number> {
    try {
      return (await this.#settle()) - this.#input.now()
    } catch (error) {
      // The storage may be unavailable for a while. The current certificate is valid until it expires.
      this.#holder.fail(error)
      return CHECK_INTERVAL_MS
    }
  }

  /** Reads, plans and writes until no change is necessary. Returns the time of the next check in ms since the epoch. */
  async #settle(): Promise<number> {
    const { storage, now } = this.#input
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const stored = await storage.read()
      if (stored === undefined && this.#last !== undefined) {
        // The stored state was deleted. Callers do not trust a new CA immediately, so the old state is restored, and a new CA is published
        // as with `--renew`.
        if (await storage.write(this.#last, undefined)) this.#isRenewalRequested = true
        continue
      }
      this.#last = stored
      const plan = this.#plan(stored)
      if (stored !== undefined && isServable(plan)) this.#serve(stored)
      if (!changesCertificates(plan)) {
        this.#isRenewalRequested = false
        return plan.nextCheckAt
      }
      const wanted = await applyCertificatePlan({ plan, stored, hosts: this.#hosts, now: now() })
      // The next round reads the stored state, which this replica or another one wrote.
      if (await storage.write(wanted, stored)) this.#report(plan)
    }
    throw new Error(
      `other replicas changed the certificates ${MAX_ROUNDS} times in a row; check the clocks of all replicas`,
    )
  }

  #plan(stored: StoredCertificates | undefined): CertificatePlan {
    const now = this.#input.now()
    if (stored?.next?.certPem !== this.#next?.certPem) {
      this.#next = stored?.next && { certPem: stored.next.certPem, knownSince: now }
    }
    const nextKnownSince = this.#next?.knownSince ?? now
    return planCertificates({
      observed: stored && gatherCertificates({ stored, hosts: this.#hosts, nextKnownSince }),
      now,
      checkIntervalMs: CHECK_INTERVAL_MS,
      // The replica that writes the registration must first read the new CA.
      waitMs: CHECK_INTERVAL_MS + OVERLAP_MS,
      published: stored && this.#input.isPublished?.(joinCaBundle(stored)),
      isRenewalRequested: this.#isRenewalRequested,
    })
  }

  #serve(stored: StoredCertificates): void {
    const { certPem, keyPem } = stored.leaf
    const [leaf] = parseCertificates(certPem)
    this.#holder.set({ certPem, keyPem, caBundlePem: joinCaBundle(stored), notAfter: leaf.notAfter })
  }

  #report({ authority, leaf }: CertificatePlan): void {
    const observer = this.#observer
    if (authority.kind === 'publish-next') observer.renewed?.('next CA', authority.reason)
    if (authority.kind === 'promote-next' || authority.kind === 'replace') {
      observer.renewed?.('signing CA', authority.reason)
    }
    if (leaf !== undefined) observer.renewed?.('serving certificate', leaf)
  }
}

/** Whether callers accept the stored leaf, even if it is due for renewal. */
function isServable(plan: CertificatePlan): boolean {
  return plan.leaf === undefined || plan.leaf === 'two-thirds-of-life' || plan.leaf === 'hosts-not-covered'
}
