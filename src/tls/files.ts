/** Serves a certificate that another tool keeps in a folder, such as cert-manager in a mounted Secret. */
import { watchFolder } from '../base/folder-watch.ts'
import { systemClock } from '../base/time/clock.ts'
import { broken, certificatesIn, pairIn, readPemFiles, type StoragePlace } from './pem-files.ts'
import { CHECK_INTERVAL_MS, mayStartToSign, OVERLAP_MS, trustedAuthorities } from './renew.ts'
import { CertificateHolder, type CertificateObserver, type CertificateSource } from './source.ts'
import { CA_FILE, LEAF_FILE, LEAF_KEY_FILE } from './stored-files.ts'
import { startTicker } from './ticker.ts'
import { isSignedBy, joinPem, type ParsedCertificate } from './x509.ts'

export interface OpenCertificateFilesInput {
  /** The folder with `tls.crt` (and intermediates), `tls.key` and an optional `ca.crt`. */
  folder: string
  /** The wall clock, in ms since the epoch. */
  now: () => number
  observer?: CertificateObserver
}

/** A CA in the bundle, and when this process first read it (ms since the epoch). */
type KnownAuthority = ParsedCertificate & { knownSince: number }

// The kubelet replaces one link, but users copy file after file. A pause avoids errors about incomplete changes.
const DEBOUNCE_MS = 200

/**
 * Serves the certificate in the folder and follows its changes. An invalid change is reported, and the previous certificate stays in use.
 * Rejects with `BrokenCertificatesError` when the folder has no valid certificate at the start.
 */
export async function openCertificateFiles(input: OpenCertificateFilesInput): Promise<CertificateSource> {
  return new CertificateFiles(input).open()
}

class CertificateFiles {
  readonly #input: OpenCertificateFilesInput
  readonly #place: StoragePlace
  readonly #holder: CertificateHolder
  #bundle: KnownAuthority[] = []

  constructor(input: OpenCertificateFilesInput) {
    this.#input = input
    this.#holder = new CertificateHolder(input.observer ?? {})
    this.#place = {
      name: `certificate folder ${input.folder}`,
      remedy:
        'put a certificate and its own key there, in PEM form without a passphrase; Lodestone reads them again after each change',
    }
  }

  async open(): Promise<CertificateSource> {
    await this.#load()
    const ticker = startTicker(() => this.#look(), CHECK_INTERVAL_MS)
    return this.#holder.source(
      ticker,
      this.#watch(() => void ticker.run()),
    )
  }

  /**
   * Calls `changed` after changes that the file system reports. The ticker finds all other changes. Returns a function that ends the watch.
   */
  #watch(changed: () => void): () => void {
    return watchFolder({
      directory: this.#input.folder,
      recursive: false,
      clock: systemClock,
      debounceMs: DEBOUNCE_MS,
      changed,
      failed: (error) => this.#holder.fail(error),
    })
  }

  async #look(): Promise<number> {
    try {
      await this.#load()
    } catch (error) {
      // The change is incomplete or invalid. The current certificate is valid until it expires.
      this.#holder.fail(error)
    }
    return CHECK_INTERVAL_MS
  }

  async #load(): Promise<void> {
    const now = this.#input.now()
    const files = await readPemFiles(this.#input.folder, [LEAF_FILE, LEAF_KEY_FILE, CA_FILE], this.#place)
    const chain = certificatesIn(LEAF_FILE, files, this.#place)
    const { keyPem } = pairIn(
      { certificate: chain[0], certName: LEAF_FILE, keyName: LEAF_KEY_FILE },
      files,
      this.#place,
    )
    const { notBefore, notAfter } = chain[0]
    if (notAfter <= now) throw broken(this.#place, LEAF_FILE, `expired at ${new Date(notAfter).toISOString()}`)
    const served = { certPem: joinPem(chain.map(({ pem }) => pem)), keyPem, notAfter }
    // The old certificate is served as long as callers would reject the new one, if it is still valid.
    const current = this.#holder.get()
    const old = current && current.notAfter > now ? current : undefined
    const isEarly = notBefore > now
    // Some issuers leave it empty. Where it had a CA, it is being written.
    if (files[CA_FILE] === undefined || (files[CA_FILE].trim() === '' && this.#bundle.length === 0)) {
      this.#bundle = []
      this.#holder.set({ ...((isEarly && old) || served), caBundlePem: undefined })
      return
    }
    const bundle = this.#bundleWith(certificatesIn(CA_FILE, files, this.#place), now)
    const path = signingPath(chain, now)
    const issuers = bundle.filter((ca) => path.some((link) => link.pem === ca.pem || isSignedBy(link, ca)))
    if (issuers.length === 0)
      throw broken(this.#place, LEAF_FILE, `is signed by no CA in ${CA_FILE} that is still valid`)
    this.#bundle = bundle
    const waitMs = CHECK_INTERVAL_MS + OVERLAP_MS
    const isTrusted = issuers.some(({ knownSince }) =>
      mayStartToSign({ knownSince, now, waitMs, published: undefined }),
    )
    const caBundlePem = joinPem(bundle.map((ca) => ca.pem))
    this.#holder.set({ ...(((isEarly || !isTrusted) && old) || served), caBundlePem })
  }

  /** The bundle with the CAs in the file. Earlier CAs stay until they expire, since other replicas may still serve their certificates. */
  #bundleWith(found: readonly ParsedCertificate[], now: number): KnownAuthority[] {
    const before = this.#bundle
    const current = found.map((ca) => before.find(({ pem }) => pem === ca.pem) ?? { ...ca, knownSince: now })
    return trustedAuthorities([...current, ...before.filter((ca) => !current.includes(ca))], now)
  }
}

/** The certificate and those intermediates that lead from it to a CA. Callers accept no expired one, and need none of another chain. */
function signingPath([leaf, ...others]: readonly [ParsedCertificate, ...ParsedCertificate[]], now: number) {
  const path = [leaf]
  for (const link of path)
    path.push(...others.filter((other) => !path.includes(other) && other.notAfter > now && isSignedBy(link, other)))
  return path
}
