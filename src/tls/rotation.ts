/** Keeps a server supplied with a certificate that its callers trust: made here, renewed in time, shared by all replicas. */
import { type CertificatePlan, changesCertificates, planCertificates } from '../core/certificates/plan.ts'
import { CHECK_INTERVAL_MS, OVERLAP_MS } from '../core/certificates/renew.ts'
import { normalizeHosts } from './leaf.ts'
import { applyCertificatePlan, gatherCertificates } from './renewal.ts'
import { CertificateHolder, type CertificateObserver, type CertificateSource } from './source.ts'
import type { CertificateStorage, StoredCertificates } from './storage.ts'
import { caBundleOf } from './stored-files.ts'
import { startTicker } from './ticker.ts'
import { parseCertificates } from './x509.ts'

export interface OpenCertificatesInput {
  storage: CertificateStorage
  /** What callers call the server: DNS names and IP addresses. */
  hosts: readonly string[]
  /** The wall clock, in ms since 1970. */
  now: () => number
  observer?: CertificateObserver
  /** How often to look, in ms; default a minute. */
  checkIntervalMs?: number
  /**
   * How long callers may take to learn of a new CA, in ms; default a minute. One check interval is added to it: that long
   * it may take until the replica that writes the registration has read the new CA.
   */
  overlapMs?: number
  /**
   * Whether callers were given this bundle; undefined when that cannot be known. While it says no, a new CA does not sign,
   * however long that takes: the old one is good for months.
   */
  isPublished?: (caBundlePem: string) => boolean | undefined
  /** Publish a new CA now, though none is due; it begins to sign after the overlap. */
  renewAuthority?: boolean
}

// More than the steps of any rotation; only replicas that undo each other's work get there.
const MAX_ROUNDS = 8

/**
 * Reads the certificates, or makes them, and looks after them until `stop`.
 * Rejects when there is none to serve: `BrokenCertificatesError` when the storage holds something unusable, else what the
 * storage threw, or an Error about `hosts`. Later failures go to the observer, and the last good certificate is served on.
 */
export async function openCertificates(input: OpenCertificatesInput): Promise<CertificateSource> {
  return new Rotation(input).open()
}

class Rotation {
  readonly #input: OpenCertificatesInput
  readonly #hosts: readonly string[]
  readonly #checkIntervalMs: number
  readonly #observer: CertificateObserver
  readonly #holder: CertificateHolder
  #renewalAskedFor: boolean
  #next: { certPem: string; knownSince: number } | undefined
  /** The stored state as it was last read. */
  #last: StoredCertificates | undefined

  constructor(input: OpenCertificatesInput) {
    this.#input = input
    this.#hosts = normalizeHosts(input.hosts)
    this.#checkIntervalMs = input.checkIntervalMs ?? CHECK_INTERVAL_MS
    this.#observer = input.observer ?? {}
    this.#holder = new CertificateHolder(this.#observer)
    this.#renewalAskedFor = input.renewAuthority ?? false
  }

  /** Runs the first round. Its failure is fatal only if no certificate can be served after it. */
  async open(): Promise<CertificateSource> {
    try {
      await this.#settle()
    } catch (error) {
      if (this.#holder.get() === undefined) throw error
      this.#holder.fail(error)
    }
    return this.#holder.source(startTicker(() => this.#look(), this.#checkIntervalMs))
  }

  async #look(): Promise<number> {
    try {
      return (await this.#settle()) - this.#input.now()
    } catch (error) {
      // The storage may be away or broken for a while. A certificate in the hand is good until it expires.
      this.#holder.fail(error)
      return this.#checkIntervalMs
    }
  }

  /** Reads, plans and writes until there is nothing left to do; gives the moment of the next check in ms since 1970. */
  async #settle(): Promise<number> {
    const { storage, now } = this.#input
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const stored = await storage.read()
      if (stored === undefined && this.#last !== undefined) {
        // The stored state was deleted. No caller trusts a CA that is new at once. So the deletion counts as a request
        // for a new CA, which the old one introduces.
        if (await storage.write(this.#last, undefined)) this.#renewalAskedFor = true
        continue
      }
      this.#last = stored
      const plan = this.#plan(stored)
      if (stored !== undefined && isServable(plan)) this.#serve(stored)
      if (!changesCertificates(plan)) {
        this.#renewalAskedFor = false
        return plan.nextCheckAt
      }
      const wanted = await applyCertificatePlan({ plan, stored, hosts: this.#hosts, now: now() })
      // The next round reads the stored state, decides about it and serves it, whichever replica wrote it.
      if (await storage.write(wanted, stored)) this.#report(plan)
    }
    throw new Error(
      `certificates were changed by others ${MAX_ROUNDS} times in a row; are the clocks of all replicas right?`,
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
      checkIntervalMs: this.#checkIntervalMs,
      waitMs: this.#checkIntervalMs + (this.#input.overlapMs ?? OVERLAP_MS),
      published: stored && this.#input.isPublished?.(caBundleOf(stored)),
      renewalAskedFor: this.#renewalAskedFor,
    })
  }

  #serve(stored: StoredCertificates): void {
    const { certPem, keyPem } = stored.leaf
    const [leaf] = parseCertificates(certPem)
    this.#holder.set({ certPem, keyPem, caBundlePem: caBundleOf(stored), notAfter: leaf.notAfter })
  }

  #report({ authority, leaf }: CertificatePlan): void {
    const observer = this.#observer
    if (authority.kind === 'publish-next') observer.renewed?.('authority-published', authority.reason)
    if (authority.kind === 'promote-next' || authority.kind === 'replace') {
      observer.renewed?.('authority-signs', authority.reason)
    }
    if (leaf !== undefined) observer.renewed?.('leaf', leaf)
  }
}

/** Whether callers accept the stored leaf as it is, even if it is to be renewed. */
function isServable(plan: CertificatePlan): boolean {
  return plan.leaf === undefined || plan.leaf === 'two-thirds-of-life' || plan.leaf === 'hosts-not-covered'
}
