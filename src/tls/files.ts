/** Bring your own: serves a certificate that another tool keeps in a folder, such as cert-manager in a mounted Secret. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CHECK_INTERVAL_MS, mayStartToSign, OVERLAP_MS, trustedAuthorities } from '../core/certificates/renew.ts'
import { systemClock } from '../time/clock.ts'
import { watchFolder } from '../time/folder-watch.ts'
import { broken, certificatesIn, pairIn, type StoragePlace } from './pem-files.ts'
import { CertificateHolder, type CertificateObserver, type CertificateSource } from './source.ts'
import { CA_FILE, LEAF_FILE, LEAF_KEY_FILE } from './stored-files.ts'
import { startTicker } from './ticker.ts'
import { isSignedBy, joinPem, type ParsedCertificate } from './x509.ts'

export interface OpenCertificateFilesInput {
  /** Holds `tls.crt` (with intermediates, if any), `tls.key` and perhaps `ca.crt`. */
  folder: string
  /** The wall clock, in ms since 1970. */
  now: () => number
  observer?: CertificateObserver
  /** How often to look, in ms; default a minute. Changes that the file system reports are seen at once. */
  checkIntervalMs?: number
  /** How long callers may take to learn of a new CA, in ms; default a minute. One check interval is added to it. */
  overlapMs?: number
}

/** A CA in the bundle, and since when (ms since 1970). */
type KnownAuthority = ParsedCertificate & { knownSince: number }

// The kubelet swaps one link, users copy file after file: a pause avoids an error about half a change.
const DEBOUNCE_MS = 200

/**
 * Serves what is in the folder and follows its changes; a change that is no good is reported and the old one served on.
 * Rejects with `BrokenCertificatesError` when there is nothing usable at the start.
 */
export async function openCertificateFiles(input: OpenCertificateFilesInput): Promise<CertificateSource> {
  return new CertificateFiles(input).open()
}

class CertificateFiles {
  readonly #input: OpenCertificateFilesInput
  readonly #place: StoragePlace
  readonly #checkIntervalMs: number
  readonly #holder: CertificateHolder
  #bundle: KnownAuthority[] = []

  constructor(input: OpenCertificateFilesInput) {
    this.#input = input
    this.#checkIntervalMs = input.checkIntervalMs ?? CHECK_INTERVAL_MS
    this.#holder = new CertificateHolder(input.observer ?? {})
    this.#place = {
      name: `certificate folder ${input.folder}`,
      remedy:
        'Put a certificate and its own key there (PEM, no passphrase); they are read again as soon as they change.',
    }
  }

  async open(): Promise<CertificateSource> {
    await this.#load()
    const ticker = startTicker(() => this.#look(), this.#checkIntervalMs)
    return this.#holder.source(
      ticker,
      this.#watch(() => void ticker.run()),
    )
  }

  /** Calls `changed` after changes that the file system reports; the ticker finds all others. Returns a function that ends it. */
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
      // Half a change, or a bad one: the certificate in the hand is good until it expires.
      this.#holder.fail(error)
    }
    return this.#checkIntervalMs
  }

  async #load(): Promise<void> {
    const now = this.#input.now()
    const files = await readFiles(this.#input.folder)
    const chain = certificatesIn(LEAF_FILE, files, this.#place)
    const { keyPem } = pairIn(
      { certificate: chain[0], certName: LEAF_FILE, keyName: LEAF_KEY_FILE },
      files,
      this.#place,
    )
    const { notAfter } = chain[0]
    if (notAfter <= now) throw broken(this.#place, LEAF_FILE, `expired at ${new Date(notAfter).toISOString()}`)
    const certPem = joinPem(chain.map(({ pem }) => pem))
    if (files[CA_FILE] === undefined) {
      this.#bundle = []
      this.#holder.set({ certPem, keyPem, caBundlePem: undefined, notAfter })
      return
    }
    const bundle = this.#bundleWith(certificatesIn(CA_FILE, files, this.#place), now)
    const issuers = bundle.filter((ca) => chain.some((link) => link.pem === ca.pem || isSignedBy(link, ca)))
    if (issuers.length === 0)
      throw broken(this.#place, LEAF_FILE, `is signed by no CA in ${CA_FILE} that is still valid`)
    this.#bundle = bundle
    const caBundlePem = joinPem(bundle.map((ca) => ca.pem))
    const current = this.#holder.get()
    const waitMs = this.#checkIntervalMs + (this.#input.overlapMs ?? OVERLAP_MS)
    const known = issuers.some(({ knownSince }) => mayStartToSign({ knownSince, now, waitMs, published: undefined }))
    // Until callers had time to learn of a new CA, they are better served with the old certificate, if there is one.
    const keepOld = !known && current !== undefined && current.notAfter > now
    this.#holder.set(keepOld ? { ...current, caBundlePem } : { certPem, keyPem, caBundlePem, notAfter })
  }

  /** CAs that were published stay until they expire: other replicas may serve their certificates a while longer. */
  #bundleWith(found: readonly ParsedCertificate[], now: number): KnownAuthority[] {
    const before = this.#bundle
    const newcomers = found.map((ca) => before.find(({ pem }) => pem === ca.pem) ?? { ...ca, knownSince: now })
    return trustedAuthorities([...newcomers, ...before.filter((ca) => !newcomers.includes(ca))], now)
  }
}

async function readFiles(folder: string): Promise<Partial<Record<string, string>>> {
  const files: Partial<Record<string, string>> = {}
  for (const name of [LEAF_FILE, LEAF_KEY_FILE, CA_FILE]) {
    try {
      files[name] = await readFile(join(folder, name), 'utf8')
    } catch (error) {
      // Whether a file may be missing is decided when all are read.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }
  return files
}
